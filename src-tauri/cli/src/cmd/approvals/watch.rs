//! `drawbridge approvals watch`: prints the pending requests, and then new requests as they arrive.

use std::collections::HashSet;

use drawbridge_endpoint::ApiClient;
use drawbridge_hub::api::approvals::ListApprovals;
use drawbridge_model::{approval::ApprovalRequest, event::Event, ids::CallId};
use futures_util::StreamExt;

use super::format_request;
use crate::{context::Context, exit::Failure, output};

pub(super) async fn run(context: &Context, hub: &ApiClient) -> Result<(), Failure> {
    // Subscribe before listing, so that no request is missed in between.
    let mut events = hub.events().await?;
    let mut watch = Watch {
        json: context.json,
        printed: HashSet::new(),
    };
    watch.print_all(hub).await?;
    while let Some(event) = events.next().await {
        if let Event::ApprovalRequested { request } = event {
            watch.print(&request)?;
        } else if let Event::ApprovalEnded { id } = event {
            watch.printed.remove(&id);
        } else if event == Event::Lagged {
            watch.print_all(hub).await?;
        }
    }
    Err(Failure::HubStopped)
}

struct Watch {
    json: bool,
    printed: HashSet<CallId>,
}

impl Watch {
    async fn print_all(&mut self, hub: &ApiClient) -> Result<(), Failure> {
        for request in hub.call(ListApprovals {}).await? {
            self.print(&request)?;
        }
        Ok(())
    }

    fn print(&mut self, request: &ApprovalRequest) -> Result<(), Failure> {
        if !self.printed.insert(request.id.clone()) {
            return Ok(());
        }
        output::print_answer(self.json, request, |request| {
            format!("{}\n", format_request(request))
        })
    }
}
