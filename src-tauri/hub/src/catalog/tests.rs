use super::*;

#[test]
fn a_server_shortens_the_time_to_live_down_to_the_minimum_and_never_lengthens_it() {
    let (configured, ms) = (Duration::from_secs(300), |ms| Duration::from_millis(ms));
    let is_asleep = false;
    for (stated, expected) in [
        (None, configured),
        (Some(60_000), ms(60_000)),
        (Some(0), MIN_TTL),
        (Some(u32::MAX), configured),
    ] {
        let ttl = effective_ttl(configured, stated, is_asleep);
        assert_eq!(ttl, expected, "{stated:?}");
    }
    let short = Duration::from_secs(5);
    assert_eq!(
        effective_ttl(short, Some(0), is_asleep),
        short,
        "the time may be below the minimum if the user sets it"
    );
}

#[test]
fn the_copy_of_a_sleeping_server_is_fresh_for_an_hour_or_for_the_configured_longer_time() {
    let (hour, day) = (Duration::from_secs(3_600), Duration::from_secs(86_400));
    for (configured, stated, expected) in [
        (Duration::from_secs(300), None, hour),
        (Duration::from_secs(300), Some(0), hour),
        (Duration::ZERO, None, hour),
        (day, Some(1_000), day),
    ] {
        let ttl = effective_ttl(configured, stated, true);
        assert_eq!(ttl, expected, "{configured:?}");
    }
}

#[test]
fn a_clock_jump_in_either_direction_makes_a_copy_stale() {
    let (read_at, ttl) = (Timestamp(1_790_000_000_000), Duration::from_secs(300));
    let years = 20 * 365 * 86_400_000;
    for (later_ms, expected) in [
        (0, false),
        (299_999, false),
        (300_001, true),
        (-1, true),
        (years, true),
        (-years, true),
    ] {
        assert_eq!(
            is_old(read_at, Timestamp(read_at.0 + later_ms), ttl),
            expected,
            "{later_ms} ms later"
        );
    }
    assert!(is_old(Timestamp(i64::MAX), Timestamp(i64::MIN), ttl));
}

mod acceptance {
    //! Only accepted definitions are listed or callable, whatever a server does.

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        /// The server is read, and offers these tools, each with one of a few descriptions.
        Read(Vec<(u8, u8)>),
        /// A person accepts the offered definition of the tool with this name.
        Accept(u8),
        /// Drawbridge restarts, and reads the stored copy.
        Restart,
        /// The grace period ends.
        EndGracePeriod,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop::collection::vec((0_u8..6, 0_u8..4), 0..6).prop_map(Step::Read),
            2 => (0_u8..6).prop_map(Step::Accept),
            1 => Just(Step::Restart),
            1 => Just(Step::EndGracePeriod),
        ]
    }

    fn tool((name, text): (u8, u8)) -> Arc<Definition> {
        let definition = format!(r#"{{"name":"t{name}","description":"does {text}"}}"#);
        Arc::new(Definition::parse(CapabilityKind::Tools, definition).expect("a definition"))
    }

    fn server() -> RegisteredServer {
        let spec = serde_json::from_str(r#"{"command":"x"}"#).expect("a spec");
        RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new())
    }

    fn synced_row() -> ServerRow {
        ServerRow {
            last_synced_at: Some(clock::now()),
            ..ServerRow::new(ServerId::new("s"))
        }
    }

    /// Returns the copy after a restart. The stored parts remain, but the grace period ends.
    fn restarted(copy: &ServerCopy) -> ServerCopy {
        ServerCopy {
            grace_period_end: None,
            ..copy.clone()
        }
    }

    proptest! {
        #[test]
        fn every_listed_tool_was_accepted(steps in prop::collection::vec(step(), 1..40)) {
            let server = Arc::new(server());
            let mut copy = ServerCopy::empty(server.id.clone());
            let (mut accepted, mut accepted_names) = (BTreeSet::new(), BTreeSet::new());
            let (mut is_first_read, mut in_grace_period) = (true, true);
            for step in steps {
                match step {
                    Step::Read(tools) => {
                        let mut names = BTreeSet::new();
                        let tools: Vec<_> = tools.into_iter().filter(|(name, _)| names.insert(*name)).map(tool).collect();
                        for tool in &tools {
                            if is_first_read || (in_grace_period && !accepted_names.contains(&tool.name)) {
                                accepted.insert(tool.digest.clone());
                                accepted_names.insert(tool.name.clone());
                            }
                        }
                        is_first_read = false;
                        copy = copy.after_sync(&server, synced_row(), Offered::from([(CapabilityKind::Tools, tools)]));
                    }
                    Step::Accept(name) => {
                        let offered = copy.tools().iter().find(|tool| tool.name == format!("t{name}")).cloned();
                        if let Some(tool) = offered {
                            copy.accepted.insert(definition_id(DefinitionKind::Tool, &tool));
                            copy.recompute_visible();
                            accepted.insert(tool.digest.clone());
                            accepted_names.insert(tool.name.clone());
                        }
                    }
                    Step::Restart if !is_first_read => {
                        copy = restarted(&copy);
                        in_grace_period = false;
                    }
                    Step::EndGracePeriod if !is_first_read => {
                        copy.grace_period_end = None;
                        in_grace_period = false;
                    }
                    Step::Restart | Step::EndGracePeriod => {}
                }
                let snapshot = Snapshot::merge(&[(server.clone(), &copy.visible)]);
                for view in [snapshot.all(), snapshot.server_view(&server.id).expect("the server is in the snapshot")] {
                    for tool in view.entries(CapabilityKind::Tools) {
                        prop_assert!(accepted.contains(&tool.definition.digest), "{}", tool.definition.raw);
                        prop_assert!(view.find(CapabilityKind::Tools, &tool.exposed_name).is_some());
                    }
                    let listed = view.list_result(CapabilityKind::Tools).get().matches("does ").count();
                    prop_assert_eq!(listed, view.entries(CapabilityKind::Tools).len());
                }
                let offered = copy.tools().iter().filter(|tool| accepted.contains(&tool.digest)).count();
                prop_assert_eq!(snapshot.all().entries(CapabilityKind::Tools).len(), offered, "each offered tool that was accepted is visible");
            }
        }
    }

    #[test]
    fn new_and_changed_tools_wait_and_a_reverted_tool_returns() {
        let server = server();
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let copy = restarted(&ServerCopy::empty(server.id.clone()).after_sync(
            &server,
            synced_row(),
            offers(&[(1, 1)]),
        ));
        let changed = copy.after_sync(&server, synced_row(), offers(&[(1, 2), (2, 1)]));
        let states: Vec<_> = changed
            .tools()
            .iter()
            .map(|tool| changed.tool_acceptance(tool))
            .collect();
        assert_eq!(states, [AcceptanceState::Changed, AcceptanceState::New]);
        assert!(changed.visible[&CapabilityKind::Tools].is_empty());
        let reverted = changed.after_sync(&server, synced_row(), offers(&[(1, 1)]));
        assert_eq!(reverted.visible[&CapabilityKind::Tools].len(), 1);
    }

    #[test]
    fn the_grace_period_accepts_additions_but_no_changes() {
        let server = server();
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let first = ServerCopy::empty(server.id.clone()).after_sync(
            &server,
            synced_row(),
            offers(&[(1, 1)]),
        );
        let copy = first.after_sync(&server, synced_row(), offers(&[(1, 2), (2, 1)]));
        let states: Vec<_> = copy
            .tools()
            .iter()
            .map(|tool| copy.tool_acceptance(tool))
            .collect();
        assert_eq!(
            states,
            [AcceptanceState::Changed, AcceptanceState::Accepted]
        );
        let removed = copy.after_sync(&server, synced_row(), offers(&[]));
        let returned = removed.after_sync(&server, synced_row(), offers(&[(1, 2)]));
        assert!(
            returned.visible[&CapabilityKind::Tools].is_empty(),
            "a tool that was away for a while is no addition"
        );
    }

    #[test]
    fn clients_may_keep_the_accepted_definition_of_a_changed_tool() {
        let spec = serde_json::from_str(r#"{"command":"x","definitions":"keep"}"#).expect("a spec");
        let server = RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new());
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let first = restarted(&ServerCopy::empty(server.id.clone()).after_sync(
            &server,
            synced_row(),
            offers(&[(1, 1)]),
        ));
        let copy = first.after_sync(&server, synced_row(), offers(&[(1, 2), (2, 1)]));
        let [retained] = &copy.visible(&server)[&CapabilityKind::Tools][..] else {
            panic!(
                "only the changed tool is visible: {:?}",
                copy.visible(&server)
            )
        };
        assert_eq!(
            retained.raw.get(),
            first.tools()[0].raw.get(),
            "clients see the accepted definition"
        );
        assert_eq!(
            retained.offered_digest(),
            copy.tools()[0].digest,
            "decisions refer to the offered definition"
        );
        assert_eq!(
            retained
                .offered
                .as_ref()
                .map(|offered| offered.text.as_str()),
            Some(copy.tools()[0].raw.get())
        );
        let reverted = copy.after_sync(&server, synced_row(), offers(&[(1, 1)]));
        assert!(
            reverted.visible(&server)[&CapabilityKind::Tools][0]
                .offered
                .is_none()
        );
    }

    #[tokio::test]
    async fn a_copy_of_an_earlier_version_counts_as_accepted_with_its_server() {
        let folder = tempfile::tempdir().expect("make a folder");
        let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
            .await
            .expect("open the store");
        let row = |instructions: &str| ServerRow {
            instructions: Some(instructions.into()),
            synced_identity: Some(server().identity),
            ..synced_row()
        };
        let prompts = |text: &str| {
            let prompt = format!(r#"{{"name":"p","description":"{text}"}}"#);
            BTreeMap::from([(CapabilityKind::Prompts, vec![prompt])])
        };
        store
            .record_sync(&row("Be brief."), &prompts("Greets"), &[])
            .await
            .expect("write the copy as an earlier version did");
        for _restart in 0..2 {
            let copy = load_copy(&store, row("Be brief."))
                .await
                .expect("load the copy");
            assert_eq!(copy.unaccepted().count(), 0);
            assert_eq!(
                copy.visible_instructions(&server()).as_deref(),
                Some("Be brief.")
            );
            assert_eq!(copy.visible(&server())[&CapabilityKind::Prompts].len(), 1);
        }
        store
            .record_sync(&row("Be loud."), &prompts("Shouts"), &[])
            .await
            .expect("write a copy with other texts");
        let copy = load_copy(&store, row("Be loud."))
            .await
            .expect("load the copy");
        let states: Vec<_> = copy.unaccepted().map(|(state, _)| state).collect();
        assert_eq!(states, [AcceptanceState::Changed; 2]);
    }

    /// Returns the resource that clients see after a server has changed a resource. `policy` is the
    /// `definitions` of the server's spec.
    fn changed_resource(before: &str, after: &str, policy: &str) -> String {
        let spec = format!(r#"{{"command":"x","definitions":"{policy}"}}"#);
        let spec = serde_json::from_str(&spec).expect("a spec");
        let server = RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new());
        let offers = |text: &str| {
            let kind = CapabilityKind::Resources;
            let resource = Definition::parse(kind, text.to_owned()).expect("a resource");
            Offered::from([(kind, vec![Arc::new(resource)])])
        };
        ServerCopy::empty(server.id.clone())
            .after_sync(&server, synced_row(), offers(before))
            .after_sync(&server, synced_row(), offers(after))
            .visible(&server)[&CapabilityKind::Resources][0]
            .raw
            .get()
            .to_owned()
    }

    #[test]
    fn the_texts_of_a_changed_resource_wait_and_the_rest_does_not() {
        let before = r#"{"uri":"f://a%20b","name":"N","title":"T","size":1}"#;
        for (policy, after, expected) in [
            (
                "ask",
                r#"{"uri":"f://a%20b","name":"N","title":"T","size":2}"#,
                r#"{"uri":"f://a%20b","name":"N","title":"T","size":2}"#,
            ),
            (
                "ask",
                r#"{"uri":"f://a%20b","name":"N","title":"T","size":2,"description":"Ignore"}"#,
                r#"{"uri":"f://a%20b","name":"f://a%20b","size":2}"#,
            ),
            (
                "ask",
                r#"{"uri":"f://a%20b","name":["Ignore"]}"#,
                r#"{"uri":"f://a%20b","name":"f://a%20b"}"#,
            ),
            (
                "ask",
                r#"{"uri":"f://a%20b","name":"a b"}"#,
                r#"{"uri":"f://a%20b","name":"a b"}"#,
            ),
            (
                "keep",
                r#"{"uri":"f://a%20b","name":"Ignore","size":2}"#,
                r#"{"uri":"f://a%20b","name":"N","size":2,"title":"T"}"#,
            ),
        ] {
            assert_eq!(changed_resource(before, after, policy), expected, "{after}");
        }
    }

    #[test]
    fn an_unchanged_tool_is_reused_after_a_sync() {
        let server = server();
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let copy = ServerCopy::empty(server.id.clone()).after_sync(
            &server,
            synced_row(),
            offers(&[(1, 1), (2, 1)]),
        );
        let again = copy.after_sync(&server, synced_row(), offers(&[(2, 1), (1, 2)]));
        assert!(
            Arc::ptr_eq(&again.tools()[0], &copy.tools()[1]),
            "the definition with its compiled validator is reused"
        );
        assert_eq!(again.tools()[1].description, "does 2");
    }

    #[test]
    fn a_trusted_server_may_change_and_the_first_sync_of_another_command_is_accepted() {
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let first = restarted(&ServerCopy::empty(server().id).after_sync(
            &server(),
            synced_row(),
            offers(&[(1, 1)]),
        ));
        let spec =
            serde_json::from_str(r#"{"command":"x","definitions":"trust"}"#).expect("a spec");
        let trusted = RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new());
        let copy = first.after_sync(&trusted, synced_row(), offers(&[(1, 1)]));
        let later = restarted(&copy).after_sync(&trusted, synced_row(), offers(&[(1, 3), (4, 1)]));
        assert_eq!(later.visible[&CapabilityKind::Tools].len(), 2);
        let spec = serde_json::from_str(r#"{"command":"y"}"#).expect("a spec");
        let other = RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new());
        assert_eq!(
            first
                .after_sync(&other, synced_row(), offers(&[(5, 1)]))
                .visible[&CapabilityKind::Tools]
                .len(),
            1
        );
    }
}

mod private_lists {
    //! No client sees the lists that were read for another client. A client sees the lists that
    //! were read for Drawbridge only until lists are read for this client. If the lists of one
    //! client change, only this client is notified. After the program of a server is replaced, its
    //! old definitions do not wait for a person.

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const CLIENTS: [&str; 3] = ["a", "b", "c"];

    /// Returns a tool that says for whom it was read.
    fn tool(name: u8, reader: &str) -> Arc<Definition> {
        let definition = format!(r#"{{"name":"t{name}","description":"for {reader}"}}"#);
        Arc::new(Definition::parse(CapabilityKind::Tools, definition).expect("a definition"))
    }

    fn offers(names: &BTreeSet<u8>, reader: &str) -> Offered {
        let tools = names.iter().map(|name| tool(*name, reader));
        Offered::from([(CapabilityKind::Tools, tools.collect())])
    }

    /// Returns a server. `policy` is the `definitions` of its spec.
    fn server(policy: &str) -> Arc<RegisteredServer> {
        let spec = format!(r#"{{"command":"x","definitions":"{policy}"}}"#);
        let spec = serde_json::from_str(&spec).expect("a spec");
        Arc::new(RegisteredServer::new(
            ServerId::new("s"),
            spec,
            std::path::PathBuf::new(),
        ))
    }

    proptest! {
        #[test]
        fn no_client_sees_tools_that_were_read_for_another_client(
            policy in prop_oneof![Just("ask"), Just("keep"), Just("trust")],
            reads in prop::collection::vec((0..4_usize, prop::collection::btree_set(0_u8..4, 0..4), any::<bool>()), 1..12),
        ) {
            let server = server(policy);
            let row = ServerRow {
                last_synced_at: Some(clock::now()),
                has_private_lists: true,
                ..ServerRow::new(server.id.clone())
            };
            let own = CopyKey::own(&server.id);
            let mut copies = Copies::default();
            copies.insert(own.clone(), ServerCopy::empty(server.id.clone()).after_sync(&server, row.clone(), offers(&BTreeSet::from([0]), "drawbridge")));
            let mut snapshots = Snapshots::default();
            let mut clients_read = BTreeSet::new();
            for (reader, names, accepts_all) in reads {
                let client = CLIENTS.get(reader).map(|client| ClientName::new(*client));
                let key = client.as_ref().map_or(own.clone(), |client| CopyKey::of_client(&server.id, client));
                let before = copies.get(&own).expect("Drawbridge's own copy").clone();
                let before = match (&client, copies.get(&key)) {
                    (None, _) => before,
                    (Some(_), Some(previous)) => before.before_sync_of(previous),
                    (Some(_), None) => before.before_sync_of(&ServerCopy::empty(server.id.clone())),
                };
                let reader = client.as_ref().map_or("drawbridge", |client| client.as_str());
                let mut copy = before.after_sync(&server, row.clone(), offers(&names, reader));
                if accepts_all {
                    for (_, id) in copy.unaccepted().collect::<Vec<_>>() {
                        copy.accepted.insert(id);
                    }
                    copy.recompute_visible();
                }
                let accepted = copy.accepted.clone();
                copies.insert(key, copy);
                copies.share_accepted(&server.id, &accepted);
                clients_read.extend(client);
                snapshots = Snapshots::build(&snapshots, &[&server], &copies);
                for client in CLIENTS {
                    let client = ClientName::new(client);
                    let reader = if clients_read.contains(&client) {
                        client.as_str()
                    } else {
                        "drawbridge"
                    };
                    for tool in snapshots.visible_to(&client).all().entries(CapabilityKind::Tools) {
                        prop_assert_eq!(&tool.definition.description, &format!("for {}", reader));
                    }
                }
            }
        }
    }

    #[test]
    fn a_person_is_not_asked_about_the_definitions_of_a_program_that_was_replaced() {
        let old = server("ask");
        let row = ServerRow {
            last_synced_at: Some(clock::now()),
            has_private_lists: true,
            ..ServerRow::new(old.id.clone())
        };
        let read = |copy: &ServerCopy, server: &Arc<RegisteredServer>, reader| {
            copy.after_sync(server, row.clone(), offers(&BTreeSet::from([1]), reader))
        };
        let own = read(&ServerCopy::empty(old.id.clone()), &old, "drawbridge");
        let of_client = read(&own, &old, "a");
        let mut copies = Copies::default();
        copies.insert(CopyKey::own(&old.id), own.clone());
        let key = CopyKey::of_client(&old.id, &ClientName::new("a"));
        copies.insert(key, of_client);
        assert_eq!(copies.unaccepted(&old.id).len(), 1);
        let mut replaced = RegisteredServer::clone(&old);
        replaced.identity = "another".into();
        let own = read(&own, &Arc::new(replaced), "drawbridge");
        copies.insert(CopyKey::own(&old.id), own);
        assert_eq!(copies.unaccepted(&old.id), []);
    }

    #[test]
    fn only_the_client_whose_list_changed_is_notified() {
        let server = server("trust");
        let row = ServerRow {
            last_synced_at: Some(clock::now()),
            has_private_lists: true,
            ..ServerRow::new(server.id.clone())
        };
        let own = ServerCopy::empty(server.id.clone()).after_sync(
            &server,
            row.clone(),
            offers(&BTreeSet::new(), "drawbridge"),
        );
        let mut copies = Copies::default();
        copies.insert(CopyKey::own(&server.id), own.clone());
        let before = Snapshots::build(&Snapshots::default(), &[&server], &copies);
        let client = ClientName::new("a");
        let copy = own.after_sync(&server, row, offers(&BTreeSet::from([1]), "a"));
        copies.insert(CopyKey::of_client(&server.id, &client), copy);
        let after = Snapshots::build(&before, &[&server], &copies);
        let change = KindChange {
            kind: CapabilityKind::Tools,
            client: Some(client),
        };
        assert_eq!(after.list_changes(&before), [change]);
    }
}
