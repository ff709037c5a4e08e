//! Fuzzes the parser of a server's messages with the input itself, and with JSON generated from it.

#![no_main]

use drawbridge_jsonrpc::fuzzing::server_message as check_message;
use arbitrary_json::Choices;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    check_message(input);
    check_message(Choices::new(input).message().as_bytes());
});
