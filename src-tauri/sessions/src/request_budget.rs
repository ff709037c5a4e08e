//! Limits the memory that the requests of clients take, by the number of the requests and by the
//! bytes of their bodies. A request counts from when its body is read until the request is
//! answered.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_model::ids::ClientName;

const MIB: usize = 1024 * 1024;
/// The most bytes of one client's requests. A request takes up to four times its bytes: for the
/// body, and for its params as they were received, as they are decided and as they are sent.
const MAX_CLIENT_BYTES: usize = 32 * MIB;
/// The most bytes of the requests of all clients.
const MAX_TOTAL_BYTES: usize = 128 * MIB;
/// The most requests of one client, in all its sessions. Each session may have at least one.
const MAX_CLIENT_REQUESTS: usize = 1_024;
const _: () = assert!(MAX_CLIENT_REQUESTS >= crate::MAX_PER_CLIENT);

/// The requests that all clients have in flight. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct RequestBudget(Arc<Mutex<Usage>>);

#[derive(Debug, Default)]
struct Usage {
    bytes: usize,
    clients: HashMap<ClientName, ClientUsage>,
}

#[derive(Debug, Default)]
struct ClientUsage {
    bytes: usize,
    requests: usize,
}

/// The share of the budget that a request takes. Dropping the permit gives the share back.
#[derive(Debug)]
pub struct RequestPermit {
    budget: RequestBudget,
    client: ClientName,
    bytes: usize,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetExceeded {
    #[error(
        "this client has {MAX_CLIENT_REQUESTS} requests in flight, which is the limit; wait for an answer, then send the request again"
    )]
    ClientRequests,
    #[error(
        "this client's requests in flight take more than {} MiB, which is the limit; wait for an answer, then send the request again",
        MAX_CLIENT_BYTES / MIB
    )]
    ClientBytes,
    #[error(
        "the requests of all clients take more than {} MiB, which is the limit; send the request again in a moment",
        MAX_TOTAL_BYTES / MIB
    )]
    TotalBytes,
}

impl RequestBudget {
    /// Counts a request of a client.
    ///
    /// # Errors
    /// Returns an error if the client has too many requests in flight.
    pub fn begin(&self, client: &ClientName) -> Result<RequestPermit, BudgetExceeded> {
        let mut usage = self.lock();
        let client_usage = usage.clients.entry(client.clone()).or_default();
        if client_usage.requests >= MAX_CLIENT_REQUESTS {
            return Err(BudgetExceeded::ClientRequests);
        }
        client_usage.requests += 1;
        drop(usage);
        Ok(RequestPermit {
            budget: self.clone(),
            client: client.clone(),
            bytes: 0,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestPermit {
    /// Adds bytes to the request's share.
    ///
    /// # Errors
    /// Returns an error if the bytes of the client, or of all clients, would exceed their limit.
    pub fn add_bytes(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut usage = self.budget.lock();
        if usage.bytes + bytes > MAX_TOTAL_BYTES {
            return Err(BudgetExceeded::TotalBytes);
        }
        let client_usage = usage.clients.entry(self.client.clone()).or_default();
        if client_usage.bytes + bytes > MAX_CLIENT_BYTES {
            return Err(BudgetExceeded::ClientBytes);
        }
        client_usage.bytes += bytes;
        usage.bytes += bytes;
        drop(usage);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut usage = self.budget.lock();
        usage.bytes -= self.bytes;
        if let Entry::Occupied(mut client_usage) = usage.clients.entry(self.client.clone()) {
            client_usage.get_mut().bytes -= self.bytes;
            client_usage.get_mut().requests -= 1;
            if client_usage.get().requests == 0 {
                client_usage.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_cannot_take_the_share_of_another() {
        let budget = RequestBudget::default();
        let (greedy, other) = (ClientName::new("greedy"), ClientName::new("other"));
        let mut first = budget.begin(&greedy).expect("the first request");
        first
            .add_bytes(MAX_CLIENT_BYTES)
            .expect("the whole share of the client");
        let mut second = budget.begin(&greedy).expect("a second request");
        assert_eq!(second.add_bytes(1), Err(BudgetExceeded::ClientBytes));
        let mut other_permit = budget.begin(&other).expect("a request");
        other_permit
            .add_bytes(MAX_CLIENT_BYTES)
            .expect("the whole share of the other client");
        drop(first);
        second.add_bytes(MAX_CLIENT_BYTES).expect("there is room");
    }

    #[test]
    fn all_clients_together_are_limited_too() {
        let budget = RequestBudget::default();
        let mut permits = Vec::new();
        for number in 0..MAX_TOTAL_BYTES / MAX_CLIENT_BYTES {
            let client = ClientName::new(format!("client {number}"));
            let mut permit = budget.begin(&client).expect("a request");
            permit.add_bytes(MAX_CLIENT_BYTES).expect("its share");
            permits.push(permit);
        }
        let mut last = budget.begin(&ClientName::new("last")).expect("a request");
        assert_eq!(last.add_bytes(1), Err(BudgetExceeded::TotalBytes));
        permits.pop();
        last.add_bytes(1).expect("there is room again");
    }

    #[test]
    fn the_requests_of_a_client_are_counted_until_they_end() {
        let budget = RequestBudget::default();
        let client = ClientName::new("c");
        let mut permits: Vec<_> = (0..MAX_CLIENT_REQUESTS)
            .map(|_| budget.begin(&client).expect("within the limit"))
            .collect();
        let refused = budget.begin(&client).err();
        assert_eq!(refused, Some(BudgetExceeded::ClientRequests));
        permits.pop();
        assert!(budget.begin(&client).is_ok());
        drop(permits);
        assert!(budget.lock().clients.is_empty());
    }
}
