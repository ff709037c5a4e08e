//! Fuzzes the changes of a raw JSON object, with the input itself and with JSON generated from it.

#![no_main]

use drawbridge_jsonrpc::fuzzing::object;
use arbitrary_json::Choices;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Ok(text) = std::str::from_utf8(input) {
        object(text);
    }
    let mut choices = Choices::new(input);
    let members = choices.members();
    object(&choices.object(&members));
});
