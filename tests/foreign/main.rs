//! Compares third-party servers, and servers that use third-party SDKs, with the same servers
//! behind Drawbridge: each definition and each result must be identical, except for the listed
//! differences.

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
    compare::ClientView,
    peer::{Era, Peer},
};

/// Defines one test for each server of the table, with the server's name.
macro_rules! servers {
    ($($name:ident),* $(,)?) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];

        mod results_are_identical_from {
            $(
                #[test]
                fn $name() {
                    super::assert_identical_through_drawbridge(stringify!($name));
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
    let names: Vec<&str> = servers::ALL.iter().map(|server| server.name).collect();
    assert_eq!(names, TESTED);
}

#[test]
fn the_docs_list_the_tested_servers() {
    docs::check_or_write(Part::Servers, &table::render());
}

/// Compares a server with the same server behind Drawbridge, in each era that it supports.
#[track_caller]
fn assert_identical_through_drawbridge(name: &str) {
    let server = servers::ALL
        .iter()
        .find(|server| server.name == name)
        .expect("every test has the name of a server in the table");
    if !server.is_available() {
        return;
    }
    let home = Home::new();
    let hub = Hub::serve(&home);
    let running = server.start(&home);
    let token = hub.add_client("desk");
    server.add(&hub, &running);
    let mut problems = vec![];
    for era in server.eras {
        let mut direct_view = ClientView::read(
            server,
            &mut Peer::connect_directly(&home, server, &running, *era),
        );
        // The server is tested directly first, so that a failure of the fixture is not attributed
        // to Drawbridge.
        assert_eq!(
            direct_view.definition_count(),
            server.definitions,
            "the number of definitions of {name}: {:?}",
            direct_view.texts.keys()
        );
        hub.wait_until_synced(&server.id());
        let mut drawbridge_view = ClientView::read(
            server,
            &mut Peer::connect_through_drawbridge(&hub, server, &token, *era),
        );
        if *era == Era::Legacy && server.eras.contains(&Era::Modern) {
            direct_view = direct_view.to_canonical();
            drawbridge_view = drawbridge_view.to_canonical();
        }
        problems.extend(differences::find_unexplained(
            server,
            *era,
            &direct_view,
            &drawbridge_view,
        ));
    }
    assert!(
        problems.is_empty(),
        "{name} differs through Drawbridge:\n{}",
        problems.join("\n")
    );
}
