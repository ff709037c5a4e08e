#![expect(
    unreachable_pub,
    reason = "the macro declares `NAMES` and `dispatch` for other crates"
)]

use ts_rs::TS;

use super::*;
use crate::hub::tests::open_hub;

#[derive(Serialize, Deserialize, TS)]
struct RepeatText {
    text: String,
}

impl Verb for RepeatText {
    type Answer = String;

    async fn run(self, _: &Hub) -> Result<String, ApiError> {
        Ok(self.text)
    }
}

verbs! {
    "test.repeat_text" => RepeatText,
}

#[derive(Default)]
struct FoundNames(Vec<&'static str>);

impl bindings::VerbVisitor for FoundNames {
    fn visit_verb<V: Verb + TS + 'static>(&mut self)
    where
        V::Answer: TS + 'static,
    {
        self.0.push(V::NAME);
    }
}

#[tokio::test]
async fn a_new_verb_needs_only_a_type_and_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(folder.path()).await;
    let answer = dispatch(&hub, "test.repeat_text", br#"{"text":"a"}"#).await;
    assert_eq!(answer.expect("an answer").get(), r#""a""#);
    let wrong = dispatch(&hub, "test.repeat_text", b"{}").await;
    let wrong = wrong.expect_err("the text is missing");
    assert_eq!(wrong.code, ErrorCode::Invalid);
    assert!(wrong.message.contains("test.repeat_text"), "{wrong}");
    let unknown = dispatch(&hub, "test.other", b"{}").await;
    assert_eq!(unknown.expect_err("no verb").code, ErrorCode::NotFound);
    let mut found = FoundNames::default();
    for_each_verb(&mut found);
    assert_eq!(found.0, NAMES);
}
