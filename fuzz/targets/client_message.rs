//! Fuzzes the parser of a client's messages with the input itself, and with JSON generated from it.

#![no_main]

use drawbridge_jsonrpc::fuzzing::client_message as message;
use arbitrary_json::Choices;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    message(input);
    message(Choices::new(input).message().as_bytes());
});
