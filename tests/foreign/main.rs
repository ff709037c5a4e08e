//! Third-party servers, and servers on third-party SDKs, once directly and once through Drawbridge:
//! each definition and each result must be the same.

mod compare;
mod differences;
mod peer;
mod servers;
mod table;

use drawbridge_tests::{
    Home, Hub,
    docs::{self, Part},
};

use crate::{
    compare::Seen,
    peer::{Era, Peer},
};

/// Defines one test for each server of the table, with the server's name.
macro_rules! servers {
    ($($name:ident),* $(,)?) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];

        mod the_same_arrives_from {
            $(
                #[test]
                fn $name() {
                    super::compare(stringify!($name));
                }
            )*
        }
    };
}

servers! {
    python_sdk_1_6_over_stdio,
    python_sdk_1_6_over_sse,
    python_sdk_1_30_over_stdio,
    python_sdk_1_30_over_http,
    python_sdk_1_30_over_stateless_http,
    python_sdk_1_30_in_pages,
    python_sdk_2_over_stdio,
    python_sdk_2_over_http,
    fastmcp_2_over_http,
    fastmcp_3_over_stdio,
    fastmcp_3_over_stateless_http,
    fastmcp_4_over_stdio,
    fastmcp_4_over_http,
    typescript_sdk_1_over_stdio,
    typescript_sdk_1_over_http,
    typescript_sdk_1_over_stateless_http,
    typescript_sdk_2_over_stdio,
    typescript_sdk_2_over_http,
    mcp_lite_over_http,
    mcp_lite_over_stateless_http,
    server_memory,
    server_sequential_thinking,
    server_sqlite,
    server_time,
    mcp_time_over_http,
    cortex_mcp,
    kglite,
}

#[test]
fn every_server_of_the_table_has_a_test() {
    let known: Vec<&str> = servers::ALL.iter().map(|server| server.name).collect();
    assert_eq!(known, TESTED);
}

#[test]
fn the_docs_list_the_servers_that_were_tried() {
    docs::hold(Part::Servers, &table::write());
}

/// Compares a server with the same server behind Drawbridge, in each era that it supports.
#[track_caller]
fn compare(name: &str) {
    let server = servers::ALL
        .iter()
        .find(|server| server.name == name)
        .expect("a server of the table");
    if !server.runs_here() {
        return;
    }
    let home = Home::new();
    let hub = Hub::serve(&home);
    let running = server.start(&home);
    let token = hub.token("desk");
    server.add(&hub, &running);
    let mut wrong = vec![];
    for era in server.eras {
        let mut direct = Seen::of(server, &mut Peer::direct(&home, server, &running, *era));
        // The server is tested directly first, so that a failure of the fixture is not attributed
        // to Drawbridge.
        assert_eq!(
            direct.definitions(),
            server.definitions,
            "definitions of {name}: {:?}",
            direct.texts.keys()
        );
        hub.until_synced(&server.id());
        let mut through = Seen::of(server, &mut Peer::through(&hub, server, &token, *era));
        if *era == Era::Session && server.eras.contains(&Era::Stateless) {
            (direct, through) = (direct.across_eras(), through.across_eras());
        }
        wrong.extend(differences::unexplained(server, *era, &direct, &through));
    }
    assert!(
        wrong.is_empty(),
        "{name} through Drawbridge:\n{}",
        wrong.join("\n")
    );
}
