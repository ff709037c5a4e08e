//! Tests with the schema of every version of Drawbridge that a user may have: no migration ever
//! changes, the rows that each version wrote are kept, and the database of a newer version is
//! refused.

use std::{num::NonZeroU32, path::Path};

use drawbridge_model::{
    acceptance::DefinitionKind,
    ids::{CallId, ServerId, SessionId, Timestamp},
    policy::Lifetime,
    server::SyncStatus,
};
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, SqliteConnection};

use super::*;
use crate::{
    Store,
    table::{call::CallFilter, memory::MemoryFilter},
};

/// The SHA-256 of each migration that somebody may have run, in hex. Add an entry for a new
/// migration; never change an entry.
const MIGRATION_DIGESTS: &[(i64, &str)] = &[
    (
        1,
        "23a18b44eb76c6d5f9deba6ee2a418835f4e885fa8a82631f966b3c9c5f96794",
    ),
    (
        2,
        "995b1296f51dbf5d39b00216d8c96c2b5381a978c84a556be103cd54254a1f8d",
    ),
    (
        3,
        "f127a2e1c24eb2df49fc9c2821aa2bce459dccf1ef5d4f32d2d6a9cad58d19d1",
    ),
    (
        4,
        "5687de5acd4231ddfafbee861b3489bc4896ca5a49db5b2f1454439a620e5fb9",
    ),
    (
        5,
        "0dcdc88046629ccb8af38e6ca3eaf86bddab32573334c8a7f65c9588a70d90c6",
    ),
    (
        6,
        "ffb34aba56bcd5c2ea973039bed0ce5d545c2ee7880d4c54faf69c155fad81df",
    ),
    (
        7,
        "73c64ef11f3b92022f8a62ae3d75700adccf6851471473eef945fa9308db2d40",
    ),
    (
        8,
        "d76332802eadbc1d3f09a177dbdc2e5b3645d7530b51f8ff2672405229d437c4",
    ),
    (
        9,
        "4c58e1b9ca444db73ec62c5d66971451811a2ca362c14aaed871a7dc7e97bbc2",
    ),
    (
        10,
        "b88d44f4c032fb7139ca3f0b3769e42f7569f4d5d9071f25a28186ac2b8b6870",
    ),
    (
        11,
        "d6fc61d4e0ffba927fc7775d4f6a8ecf08f170cca788b323a3c1ff2b3b572e2b",
    ),
    (
        12,
        "7ff19319e6c25d051f2716fdd2ad4d54795d3d11d15393589b88cbfc2434491c",
    ),
    (
        13,
        "26ec7c18d7545f05736df4cf4042291f019c2aa01127a8104ac8b4f34f6f936f",
    ),
    (
        14,
        "25f928737ac4bec4ff7717e59eab983d8d5261c09b9fdc49b1145aa4fb0a3034",
    ),
    (
        15,
        "f19f26904b3055a654108c3f133a3ec7e57daea2e6a9b3ddd0113984a0cda49e",
    ),
    (
        16,
        "bc8289cff6dcec984eb7cd8c1a1cacd0e80bae208772162de0fddb782f6875f4",
    ),
    (
        17,
        "99a8b462e26832555d8e597142d9adfe546a85991091fedc6c60d9dd521c1db9",
    ),
    (
        18,
        "0bf4c7f8a8a917f743cf041c07d544eb77ebc6d73b6d4db08417992870738bf3",
    ),
    (
        19,
        "34fcf42c068c82095188e010e143dfbce554ade17c8dd2e3f98230a8dac7c2cf",
    ),
    (
        20,
        "637b60c2b93c0ed67d2f7c0a46679f19d517817e75df1943d057a40d593fe15d",
    ),
    (
        21,
        "ad8664c5f85d638f0c3e006b28723a24cbb3fa438c71bfef79f23afa6ae2f9ee",
    ),
    (
        23,
        "d8989297eab54f6c07ec222ef28910bea9c31896e9fe82397851778155b232c0",
    ),
    (
        24,
        "bb7b8562f10ab271671ee4fb6cdef8c3ea067da9ac0369b8c1f60528893b9b3b",
    ),
    (
        26,
        "e4a70b45137d92b7ed6ea3592e28d41cfbcb07ef78c0723beb00fe934b205942",
    ),
    (
        27,
        "1363ad1ec857c347c839636ff68ecd1c3c47f1d85540371087ef8a585b794444",
    ),
    (
        28,
        "a738fc80eaf13c0673dbd14ac2ac687946221393e7fbee28841ff813177a07d2",
    ),
    (
        30,
        "88a35e8a4a678d68eff5c1d8e35eccac2bc02ab182de30d7a12cc61c53111703",
    ),
    (
        32,
        "627afc5ed916b966caf9a2089bb736770eb41e9a06f4d780941904b9b5623d29",
    ),
    (
        33,
        "d1a414daa3127dd9a12c412177760619a3f30a2858aa1cbf5807d69b1a3d255c",
    ),
    (
        34,
        "5e586e130110a146a45af8540d6cabd66a7c4d44a7f5ddb9079d922b18292ee7",
    ),
    (
        35,
        "e564e1014e399f5bec9da1f8820fb613fecbc0c52576c5e8b20416362a4fd31e",
    ),
    (
        36,
        "7453ea107af3e66bd6bbf55c46e5d0396d9a22cd5231134072e10ea43c739f5e",
    ),
];

/// The rows that the version with each schema wrote. Schemas without rows are left out.
const ROWS: &[(i64, &str)] = &[
    (
        1,
        r#"
        INSERT INTO setting VALUES ('raised', 'true'), ('approval_timeout', '120');
        INSERT INTO client VALUES ('desk', x'0102', 'desk 1.0', 10, 11, NULL), ('old', x'03', NULL, 12, NULL, 13);
        INSERT INTO server VALUES ('files', 'identity-1', 'SYNCED', 14, 'identity-1', 'Files', '1.0', '2025-06-18', 'Read first.');
        INSERT INTO tool VALUES ('files', 0, 'read', '{"name":"read"}');
        INSERT INTO policy (server, tool, client, session, effect, created_at, expires_at)
            VALUES ('files', '', '', '', 'allow', 15, NULL), ('files', 'write', 'desk', '', 'deny', 16, 17),
                ('', '', 'desk', 'session-1', 'ask', 18, NULL);
        INSERT INTO call VALUES ('2222222223', 19, 'desk', 'files', 'read', 'files__read', 'd1', 'a1', 'allowed', 'rule', '', 'ok', '', 20, 21);
        "#,
    ),
    (
        2,
        r#"INSERT INTO capability VALUES ('files', 'prompts', 0, '{"name":"summary"}');"#,
    ),
    (
        3,
        "INSERT INTO call VALUES (40, 30, 'desk', 'files', 'write', 'files__write', 'd2', 'a2', 'raised', 'hub', '', 'not_sent', '', 0, NULL);",
    ),
    (4, "UPDATE server SET ttl_ms = 60000;"),
    (
        5,
        r#"
        INSERT INTO definition VALUES ('files', 'read', 'd1', '{"name":"read"}', 31, 32);
        INSERT INTO profile VALUES ('work', '{"files":["read"]}');
        INSERT INTO client_profile VALUES ('desk', 'work');
        "#,
    ),
    (
        6,
        r#"
        INSERT INTO rule (id, server, tool, client, conditions, effect, result, life, created_at, used)
            VALUES ('rule-6', 'files', 'read', '', '[{"pointer":"/path","is":{"equals":"/tmp/a"}}]', 'allow', 'mask', '{"kind":"calls","count":3}', 33, 1);
        INSERT INTO call VALUES (60, 34, 'desk', 'files', 'read', 'files__read', 'd1', 'a3', 'allowed', 'person', 'once', 'ok', '', 500, 3, NULL, 1);
        "#,
    ),
    (
        7,
        r#"INSERT INTO call (id, at, client, server, tool, exposed_name, definition_digest, arguments_digest, decision, decided_by, reason, outcome, waited_ms, arguments)
            VALUES (70, 35, 'desk', 'files', 'read', 'files__read', 'd1', 'a4', 'denied', 'default', '', 'not_sent', 0, '{"path":"/tmp/b"}');"#,
    ),
    (
        8,
        r#"UPDATE server SET left_out = '{"entries":[],"more":2}';"#,
    ),
    (9, "UPDATE server SET offers_resources = 1;"),
    (
        11,
        r#"
        INSERT INTO call (id, at, client, server, tool, exposed_name, definition_digest, arguments_digest, decision, decided_by, reason, outcome, waited_ms, method, extra, original_arguments)
            VALUES (110, 36, 'desk', 'files', 'file:///a', 'file:///a', '', 'a5', 'allowed', 'rule', '', 'ok', 0, 'resources/read', '{"n":1}', '{"n":2}');
        INSERT INTO rule (id, server, tool, client, effect, lifetime, created_at, kind)
            VALUES ('rule-11', 'files', '', '', 'ask', '{"kind":"until_deleted"}', 37, 'resources');
        "#,
    ),
    (
        12,
        r#"INSERT INTO definition VALUES ('files', 'prompt', 'summary', 'd3', '{"name":"summary"}', 38, 39, 1);"#,
    ),
    (
        13,
        r#"UPDATE server SET accepted_spec = '{"name":"Files"}', accepted_program = '{}', granted_secrets = '[]';"#,
    ),
    (
        14,
        r#"
        UPDATE server SET has_private_lists = 1;
        INSERT INTO client_copy VALUES ('files', 'desk', 'identity-1', 40, 1000, '{"tools":[]}');
        "#,
    ),
    (
        15,
        "INSERT INTO profile VALUES ('project', '{}', '/home/me/project');",
    ),
    (
        16,
        r#"
        INSERT INTO client_file VALUES ('/home/me/.config/a.json', 'claude-code', 'desk', NULL, 'http', 1, 0, 'digest', 41);
        INSERT INTO client_change VALUES ('change-1', 42, 'connect', 'claude-code', '["/home/me/.config/a.json"]', '["files"]', NULL);
        "#,
    ),
    (
        17,
        r#"
        INSERT INTO memory VALUES (1, 'default', 'desk', 'Tea is at four', 'note', '["tea"]', 43, 44);
        INSERT INTO memory_index (rowid, content, labels) VALUES (1, 'Tea is at four', 'note tea');
        "#,
    ),
    (
        18,
        r#"
        INSERT INTO hook VALUES ('audit', 0, '{"name":"audit"}');
        UPDATE call SET request_hooks = 'audit', result_hooks = 'a, b' WHERE id = 110;
        "#,
    ),
    (19, "INSERT INTO sampling_usage VALUES (20000, 3, 400);"),
    (
        20,
        "INSERT INTO token_usage VALUES (300000, 'desk', 'files', 'read', 5, 6);",
    ),
    (
        21,
        r#"UPDATE server SET extensions = '{"io.example/a":{}}';"#,
    ),
    (
        27,
        r#"
        UPDATE client SET calls_per_minute = 60 WHERE name = 'desk';
        INSERT INTO rule (id, server, tool, client, user, effect, lifetime, created_at)
            VALUES ('rule-27', 'files', '', '', 'ada', 'deny', '{"kind":"until_deleted"}', 45);
        "#,
    ),
    (33, "UPDATE call SET session = 'session-1' WHERE id = 110;"),
    (
        34,
        r#"INSERT INTO call_result VALUES (110, 46, '{"contents":[]}', 0, 15);"#,
    ),
];

/// Creates a database like that of the version with this schema, with the [`ROWS`] of this schema
/// and of every earlier schema.
async fn create_released_database(file: &Path, version: i64) {
    let count = |version| {
        MIGRATIONS
            .iter()
            .filter(|(number, ..)| *number <= version)
            .count()
    };
    let mut database: Option<SqliteConnection> = None;
    for (number, ..) in MIGRATIONS.iter().filter(|(number, ..)| *number <= version) {
        let mut upgraded = match database.take() {
            None => create_older_database(file, count(*number)).await,
            Some(mut open) => {
                migrator(&MIGRATIONS[..count(*number)])
                    .run(&mut open)
                    .await
                    .expect("migrate to the next schema");
                open
            }
        };
        for (_, rows) in ROWS.iter().filter(|(schema, _)| schema == number) {
            sqlx::raw_sql(AssertSqlSafe((*rows).to_owned()))
                .execute(&mut upgraded)
                .await
                .unwrap_or_else(|e| panic!("write the rows of schema {number}: {e}"));
        }
        database = Some(upgraded);
    }
    let database = database.expect("there is a first schema");
    database.close().await.expect("close the database");
}

/// Checks that the [`ROWS`] of every schema up to this version are in the database.
async fn check_rows(store: &Store, version: i64) {
    let has = |schema| version >= schema;
    let context = format!("schema {version}");

    let paused = store.setting("paused").await.expect("read a setting");
    assert_eq!(paused.as_deref(), Some("true"), "{context}");

    let clients = store.clients().await.expect("read the clients");
    let clients: Vec<_> = clients
        .iter()
        .map(|row| {
            let token = row.token_hmac.as_deref();
            (row.name.as_str(), token, row.user.as_str(), row.revoked_at)
        })
        .collect();
    assert_eq!(
        clients,
        [
            ("desk", Some(&[1, 2][..]), "default", None),
            ("old", Some(&[3][..]), "default", Some(Timestamp(13))),
        ],
        "{context}"
    );
    let clients = store.clients().await.expect("read the clients");
    let limits: Vec<_> = clients.iter().map(|row| row.calls_per_minute).collect();
    let limit = NonZeroU32::new(60).filter(|_| has(27));
    assert_eq!(limits, [limit, None], "{context}");

    let servers = store.servers().await.expect("read the servers");
    let [server] = servers.as_slice() else {
        panic!("{context}: {servers:?}");
    };
    assert_eq!(server.accepted_identity.as_deref(), Some("identity-1"));
    assert_eq!(server.sync_status, SyncStatus::Synced);
    assert_eq!(server.instructions.as_deref(), Some("Read first."));
    assert!(server.accepted_at.is_some() || has(5), "{context}");
    assert_eq!(server.ttl_ms, has(4).then_some(60_000), "{context}");
    assert_eq!(server.offers_resources, has(9).then_some(true), "{context}");
    assert_eq!(
        server.excluded.more,
        if has(8) { 2 } else { 0 },
        "{context}"
    );
    assert_eq!(server.accepted_spec.is_some(), has(13), "{context}");
    assert_eq!(server.has_private_lists, has(14), "{context}");

    let files = ServerId::new("files");
    let lists = store.capabilities(&files).await.expect("read the lists");
    let count: usize = lists.values().map(Vec::len).sum();
    assert_eq!(count, if has(2) { 2 } else { 1 }, "{context}: {lists:?}");

    let rules = store.rules().await.expect("read the rules");
    assert_eq!(
        rules.len(),
        3 + usize::from(has(6)) + usize::from(has(11)) + usize::from(has(27)),
        "{context}: {rules:?}"
    );
    let users: Vec<_> = rules
        .iter()
        .filter_map(|rule| rule.spec.scope.user.as_ref())
        .collect();
    let expected: &[&str] = if has(27) { &["ada"] } else { &[] };
    assert!(
        users
            .iter()
            .map(|user| user.as_str())
            .eq(expected.iter().copied()),
        "{context}: {users:?}"
    );
    let of_server = rules.iter().find(|rule| rule.created_at == Timestamp(15));
    assert_eq!(
        of_server.map(|rule| &rule.spec.lifetime),
        Some(&Lifetime::UntilDeleted),
        "{context}"
    );

    let calls = store
        .calls(&CallFilter {
            limit: 50,
            ..CallFilter::default()
        })
        .await
        .expect("read the calls");
    let added = [3, 6, 7, 11].iter().filter(|schema| has(**schema)).count();
    assert_eq!(calls.len(), 1 + added, "{context}: {calls:?}");
    let of_session = CallFilter {
        session: Some(SessionId::new("session-1")),
        limit: 50,
        ..CallFilter::default()
    };
    let of_session = store.calls(&of_session).await.expect("read the calls");
    assert_eq!(
        of_session.len(),
        usize::from(has(33)),
        "{context}: {calls:?}"
    );
    let answered = calls.iter().find(|call| call.session.is_some());
    if let Some(answered) = answered {
        let shown = store.call(&answered.id).await.expect("read a call");
        let bytes = shown.and_then(|call| call.result).map(|kept| kept.bytes);
        assert_eq!(bytes, has(34).then_some(15), "{context}");
    }
    let first = CallId::new("2222222223");
    let first = store.call(&first).await.expect("read a call");
    assert_eq!(
        first.map(|call| (call.exposed_name, call.duration_ms)),
        Some(("files__read".to_owned(), Some(21))),
        "{context}"
    );

    let definitions = store.definitions(&files).await;
    let definitions = definitions.expect("read the definitions");
    let kinds: Vec<_> = definitions.iter().map(|row| row.kind).collect();
    let mut expected = vec![];
    expected.extend(has(5).then_some(DefinitionKind::Tool));
    expected.extend(has(12).then_some(DefinitionKind::Prompt));
    assert!(
        kinds.len() == expected.len() && expected.iter().all(|kind| kinds.contains(kind)),
        "{context}: {kinds:?}"
    );

    let counts = [
        ("profile", usize::from(has(5)) + usize::from(has(15))),
        ("client_profile", usize::from(has(5))),
        ("client_copy", usize::from(has(14))),
        ("client_file", usize::from(has(16))),
        ("client_change", usize::from(has(16))),
        ("hook", usize::from(has(18))),
        ("sampling_usage", usize::from(has(19))),
        ("token_usage", usize::from(has(20))),
    ];
    let token_usage: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM token_usage WHERE at = 300000 AND client = 'desk' AND sent = 5 AND received = 6",
    )
    .fetch_one(&store.pool)
    .await
    .expect("read the usage of tokens");
    let token_usage = usize::try_from(token_usage).expect("a number of rows");
    let read = [
        store.profiles().await.expect("read the profiles").len(),
        store.client_profiles().await.expect("read the links").len(),
        store.client_copies().await.expect("read the copies").len(),
        store.client_files().await.expect("read the files").len(),
        store
            .client_changes()
            .await
            .expect("read the changes")
            .len(),
        store.hooks().await.expect("read the hooks").len(),
        usize::from(
            store
                .sampling_usage(20_000)
                .await
                .expect("read the usage")
                .requests
                == 3,
        ),
        token_usage,
    ];
    for ((table, expected), found) in counts.iter().zip(read) {
        assert_eq!(found, *expected, "{context}: rows of {table}");
    }

    let memory = store.memory_page(&MemoryFilter::default(), None, 9).await;
    let memory = memory.expect("read the memory");
    assert_eq!(
        memory.entries.len(),
        usize::from(has(17)),
        "{context}: {memory:?}"
    );
}

#[test]
fn every_migration_is_listed_and_no_released_migration_has_changed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/migrations");
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .expect("read the folder of migrations")
        .map(|entry| entry.expect("an entry").file_name().into_string())
        .map(|name| name.expect("a name in UTF-8"))
        .collect();
    files.sort();
    let listed: Vec<String> = MIGRATIONS
        .iter()
        .map(|(number, name, _)| format!("{number:04}_{name}.sql"))
        .collect();
    assert_eq!(listed, files, "MIGRATIONS lists every file, in order");
    let digests: Vec<_> = MIGRATIONS
        .iter()
        .map(|(number, _, sql)| (*number, hex::encode(Sha256::digest(sql))))
        .collect();
    let digests: Vec<_> = digests.iter().map(|(n, d)| (*n, d.as_str())).collect();
    assert_eq!(
        digests, MIGRATION_DIGESTS,
        "add new migrations; never change a released migration"
    );
}

#[tokio::test]
async fn the_rows_of_every_released_schema_are_kept() {
    for (version, _) in MIGRATION_DIGESTS {
        let folder = tempfile::tempdir().expect("make a folder");
        let file = folder.path().join("drawbridge.db");
        create_released_database(&file, *version).await;

        let (store, moved) = Store::open(&file)
            .await
            .unwrap_or_else(|e| panic!("schema {version}: {e}"));

        assert_eq!(moved, None, "schema {version}");
        check_rows(&store, *version).await;
        let journal = store.journal();
        journal.recover().await.expect("recover the journal");
        let report = journal.verify().await.expect("verify the audit log");
        assert_eq!(report.broken, None, "schema {version}");
        journal.close().await;
        store.close().await;
    }
}

#[tokio::test]
async fn the_database_of_a_newer_version_is_refused_and_stays() {
    let folder = tempfile::tempdir().expect("make a folder");
    let file = folder.path().join("drawbridge.db");
    let mut newer = create_older_database(&file, MIGRATIONS.len()).await;
    sqlx::query("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 0)")
        .execute(&mut newer)
        .await
        .expect("write");
    newer.close().await.expect("close the database");

    let Err(error) = Store::open(&file).await else {
        panic!("the database opens");
    };

    let text = error.to_string();
    assert!(text.contains("a newer version of Drawbridge"), "{text}");
    assert!(text.contains("9999"), "{text}");
    assert!(file.exists(), "the database is not moved aside");
}
