//! Formats of the exported calls.

use drawbridge_model::{
    call::{Call, DecidedBy, Decision, Outcome},
    ids::{CallId, ClientName, ServerId},
    protocol::guarded::GuardedMethod,
};

use super::*;

fn call(tool: &str, arguments: &str) -> AuditedCall {
    AuditedCall {
        call: Call {
            id: CallId::new("2222222223"),
            at: Timestamp(1_000),
            method: GuardedMethod::CallTool,
            client: ClientName::new("desk"),
            session: None,
            server: ServerId::new("s"),
            tool: tool.into(),
            exposed_name: "s__t".into(),
            decision: Decision::Allowed,
            decided_by: DecidedBy::Rule,
            rule: None,
            is_edited: false,
            reason: "one, \"two\"\nthree".into(),
            outcome: Outcome::Ok,
            error: String::new(),
            waited_ms: 0,
            duration_ms: None,
            arguments: Some(arguments.into()),
            extra: None,
            original_arguments: None,
            request_hooks: Vec::new(),
            result_hooks: Vec::new(),
            flags: Vec::new(),
            result: None,
        },
        definition_digest: "d".into(),
        arguments_digest: "a".into(),
        seq: Some(2),
        hash: Some("ff".into()),
    }
}

fn export_calls(format: ExportFormat, calls: &[AuditedCall]) -> String {
    let mut bytes = Vec::new();
    let mut out = Exporter::new(format, &mut bytes).expect("a writer");
    calls
        .iter()
        .for_each(|call| out.write(call).expect("written"));
    out.finish().expect("flushed");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_csv_is_quoted_and_has_no_formulas() {
    for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
        let text = export_calls(ExportFormat::Csv, &[call(formula, "{\"a\":\"b,c\"}")]);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().expect("a head"), &COLUMNS[..]);
        let rows: Vec<_> = reader.records().collect::<Result<_, _>>().expect("rows");
        assert_eq!(rows.len(), 1);
        assert_eq!(&rows[0][4], format!("'{formula}"));
        assert_eq!(
            (&rows[0][8], &rows[0][15]),
            ("one, \"two\"\nthree", "{\"a\":\"b,c\"}")
        );
        assert!(
            text.ends_with("\r\n") && text.contains("\"one, \"\"two\"\"\nthree\""),
            "{text}"
        );
    }
}

#[test]
fn each_line_of_json_is_a_call_with_its_audit_entry() {
    let text = export_calls(ExportFormat::Jsonl, &[call("t", "{}"), call("u", "{}")]);
    let lines: Vec<AuditedCall> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines, [call("t", "{}"), call("u", "{}")]);
}
