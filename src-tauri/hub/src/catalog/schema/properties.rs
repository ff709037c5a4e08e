//! Properties of the check of arguments that hold for any schema and any arguments.

use std::time::{Duration, Instant};

use drawbridge_model::spec::Validate;
use serde_json::{Value, value::RawValue};

use super::{Budget, check_arguments, check_complexity, check_references, compile_validator};

/// Far more than any check may take, also on a slow computer.
const TOO_LONG: Duration = Duration::from_secs(5);

/// Checks that neither the refusal of a schema nor a check takes long, that a repeated check gives
/// the same answer, and that coercible validation accepts all arguments that strict validation
/// accepts.
pub(crate) fn arguments_are_checked_within_the_budget(schema: &str, arguments: &str) {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return;
    };
    let start = Instant::now();
    if check_references(&schema).is_err() || check_complexity(&schema).is_err() {
        assert!(start.elapsed() < TOO_LONG, "refusing {schema} takes long");
        return;
    }
    let Some(validator) = compile_validator("tool", &schema) else {
        return;
    };
    let Ok(arguments) = RawValue::from_string(arguments.to_owned()) else {
        return;
    };
    let check = |validate| {
        let budget = Budget::new((10_000, Duration::from_secs(1)));
        check_arguments(&validator, &arguments, validate, budget)
    };
    let strict = check(Validate::Strict);
    assert_eq!(
        strict.as_ref().map(Result::is_ok),
        check(Validate::Strict).as_ref().map(Result::is_ok),
        "{schema} and {arguments}"
    );
    if let (Some(Ok(())), Some(coercible)) = (&strict, check(Validate::Coercible)) {
        assert!(coercible.is_ok(), "{schema} and {arguments}");
    }
    assert!(start.elapsed() < TOO_LONG, "{schema} and {arguments}");
}
