use super::*;

#[test]
fn a_server_shortens_the_time_to_live_but_not_to_nothing_and_never_lengthens_it() {
    let (wanted, ms) = (Duration::from_secs(300), |ms| Duration::from_millis(ms));
    for (said, expected) in [
        (None, wanted),
        (Some(60_000), ms(60_000)),
        (Some(0), LEAST_TTL),
        (Some(u32::MAX), wanted),
    ] {
        assert_eq!(time_to_live(wanted, said), expected, "{said:?}");
    }
    let short = Duration::from_secs(5);
    assert_eq!(
        time_to_live(short, Some(0)),
        short,
        "the user's own is the least"
    );
}

#[test]
fn a_clock_that_jumps_by_years_makes_a_copy_old_whichever_way() {
    let (read_at, ttl) = (Timestamp(1_790_000_000_000), Duration::from_secs(300));
    let years = 20 * 365 * 86_400_000;
    for (now, old) in [
        (0, false),
        (299_999, false),
        (300_001, true),
        (-1, true),
        (years, true),
        (-years, true),
    ] {
        assert_eq!(
            is_old(read_at, Timestamp(read_at.0 + now), ttl),
            old,
            "{now} ms later"
        );
    }
    assert!(is_old(Timestamp(i64::MAX), Timestamp(i64::MIN), ttl));
}

mod accepted {
    //! I9: only accepted definitions are listed or callable, whatever a server does.

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        /// The server is read, and offers these tools, each with one of a few descriptions.
        Read(Vec<(u8, u8)>),
        /// A person accepts the waiting definition of the tool with this name.
        Accept(u8),
        /// Drawbridge restarts, and reads the stored copy.
        Restart,
        /// A minute passes.
        Settle,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop::collection::vec((0_u8..6, 0_u8..4), 0..6).prop_map(Step::Read),
            2 => (0_u8..6).prop_map(Step::Accept),
            1 => Just(Step::Restart),
            1 => Just(Step::Settle),
        ]
    }

    fn tool((name, text): (u8, u8)) -> Arc<Definition> {
        let definition = format!(r#"{{"name":"t{name}","description":"does {text}"}}"#);
        Arc::new(Definition::read(CapabilityKind::Tools, definition).expect("a definition"))
    }

    fn server() -> RegisteredServer {
        let spec = serde_json::from_str(r#"{"command":"x"}"#).expect("a spec");
        RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new())
    }

    fn synced() -> ServerRow {
        ServerRow {
            last_synced_at: Some(clock::now()),
            ..ServerRow::new(ServerId::new("s"))
        }
    }

    /// Returns the copy after a restart. The stored parts remain, but the grace period ends.
    fn restarted(copy: &ServerCopy) -> ServerCopy {
        ServerCopy {
            settling_until: None,
            ..copy.clone()
        }
    }

    proptest! {
        #[test]
        fn what_is_at_the_door_was_accepted(steps in prop::collection::vec(step(), 1..40)) {
            let server = Arc::new(server());
            let mut copy = ServerCopy::unknown(server.id.clone());
            let mut accepted = BTreeSet::new();
            let (mut is_first, mut settling) = (true, true);
            for step in steps {
                match step {
                    Step::Read(tools) => {
                        let mut names = BTreeSet::new();
                        let tools: Vec<_> = tools.into_iter().filter(|(name, _)| names.insert(*name)).map(tool).collect();
                        if is_first || settling {
                            accepted.extend(tools.iter().map(|tool| tool.digest.clone()));
                        }
                        is_first = false;
                        copy = copy.take(&server, synced(), Offered::from([(CapabilityKind::Tools, tools)]));
                    }
                    Step::Accept(name) => {
                        let waiting = copy.tools().iter().find(|tool| tool.name == format!("t{name}")).cloned();
                        if let Some(tool) = waiting {
                            copy.accepted.insert(&tool.name, &tool.digest);
                            copy.sort_out();
                            accepted.insert(tool.digest.clone());
                        }
                    }
                    Step::Restart if !is_first => {
                        copy = restarted(&copy);
                        settling = false;
                    }
                    Step::Settle if !is_first => {
                        copy.settling_until = None;
                        settling = false;
                    }
                    Step::Restart | Step::Settle => {}
                }
                let snapshot = Snapshot::merge(&[(server.clone(), &copy.shown)]);
                for lists in [snapshot.all(), snapshot.alone(&server.id).expect("it is there")] {
                    for tool in lists.entries(CapabilityKind::Tools) {
                        prop_assert!(accepted.contains(&tool.definition.digest), "{}", tool.definition.raw);
                        prop_assert!(lists.find(CapabilityKind::Tools, &tool.exposed_name).is_some());
                    }
                    let listed = lists.listed(CapabilityKind::Tools).get().matches("does ").count();
                    prop_assert_eq!(listed, lists.entries(CapabilityKind::Tools).len());
                }
                let offered = copy.tools().iter().filter(|tool| accepted.contains(&tool.digest)).count();
                prop_assert_eq!(snapshot.all().entries(CapabilityKind::Tools).len(), offered, "an accepted one is not lost");
            }
        }
    }

    #[test]
    fn a_changed_tool_and_a_new_one_wait_and_one_that_changes_back_returns() {
        let server = server();
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let copy = restarted(&ServerCopy::unknown(server.id.clone()).take(
            &server,
            synced(),
            offers(&[(1, 1)]),
        ));
        let changed = copy.take(&server, synced(), offers(&[(1, 2), (2, 1)]));
        let standings: Vec<_> = changed
            .tools()
            .iter()
            .map(|tool| changed.standing(tool))
            .collect();
        assert_eq!(standings, [AcceptanceState::Changed, AcceptanceState::New]);
        assert!(changed.shown[&CapabilityKind::Tools].is_empty());
        let back = changed.take(&server, synced(), offers(&[(1, 1)]));
        assert_eq!(back.shown[&CapabilityKind::Tools].len(), 1);
    }

    #[test]
    fn a_changed_tool_may_stay_as_it_was_accepted_for_clients_to_see() {
        let spec = serde_json::from_str(r#"{"command":"x","definitions":"keep"}"#).expect("a spec");
        let server = RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new());
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let first = restarted(&ServerCopy::unknown(server.id.clone()).take(
            &server,
            synced(),
            offers(&[(1, 1)]),
        ));
        let copy = first.take(&server, synced(), offers(&[(1, 2), (2, 1)]));
        let [kept] = &copy.shown(&server)[&CapabilityKind::Tools][..] else {
            panic!("a new one waits: {:?}", copy.shown(&server))
        };
        assert_eq!(
            kept.raw.get(),
            first.tools()[0].raw.get(),
            "clients see what was accepted"
        );
        assert_eq!(
            kept.digest,
            copy.tools()[0].digest,
            "and decisions are about what is there"
        );
        assert_eq!(
            kept.now.as_ref().map(|now| now.get()),
            Some(copy.tools()[0].raw.get())
        );
        let back = copy.take(&server, synced(), offers(&[(1, 1)]));
        assert!(back.shown(&server)[&CapabilityKind::Tools][0].now.is_none());
    }

    #[test]
    fn a_tool_that_is_read_again_unchanged_is_the_one_that_was_there() {
        let server = server();
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let copy = ServerCopy::unknown(server.id.clone()).take(
            &server,
            synced(),
            offers(&[(1, 1), (2, 1)]),
        );
        let again = copy.take(&server, synced(), offers(&[(2, 1), (1, 2)]));
        assert!(
            Arc::ptr_eq(&again.tools()[0], &copy.tools()[1]),
            "with what was made of it"
        );
        assert_eq!(again.tools()[1].description, "does 2");
    }

    #[test]
    fn a_trusted_server_changes_as_it_likes_and_another_command_is_another_server() {
        let offers = |tools: &[(u8, u8)]| {
            Offered::from([(
                CapabilityKind::Tools,
                tools.iter().copied().map(tool).collect(),
            )])
        };
        let first = restarted(&ServerCopy::unknown(server().id).take(
            &server(),
            synced(),
            offers(&[(1, 1)]),
        ));
        let spec =
            serde_json::from_str(r#"{"command":"x","definitions":"trust"}"#).expect("a spec");
        let trusted = RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new());
        let copy = first.take(&trusted, synced(), offers(&[(1, 1)]));
        let later = restarted(&copy).take(&trusted, synced(), offers(&[(1, 3), (4, 1)]));
        assert_eq!(later.shown[&CapabilityKind::Tools].len(), 2);
        let spec = serde_json::from_str(r#"{"command":"y"}"#).expect("a spec");
        let other = RegisteredServer::new(ServerId::new("s"), spec, std::path::PathBuf::new());
        assert_eq!(
            first.take(&other, synced(), offers(&[(5, 1)])).shown[&CapabilityKind::Tools].len(),
            1
        );
    }
}
