//! Tests how a person's values become arguments and environment variables.

use super::*;

/// The official registry's example with arguments of all kinds, slightly shortened.
const DATABASE: &str = r#"{
  "name": "io.github.example/database-manager", "version": "3.1.0",
  "packages": [{
    "registryType": "npm", "identifier": "@example/database-manager-mcp", "version": "3.1.0",
    "packageArguments": [
      {"type": "named", "name": "--host", "description": "Database host", "default": "localhost", "isRequired": true},
      {"type": "named", "name": "--port", "description": "Database port", "format": "number"},
      {"type": "named", "name": "--read-only", "format": "boolean", "default": false},
      {"type": "named", "name": "--stdio", "value": ""},
      {"type": "named", "name": "--label=", "valueHint": "label"},
      {"type": "positional", "valueHint": "database_name", "description": "Name of the database", "isRequired": true}
    ],
    "environmentVariables": [
      {"name": "DB_USERNAME", "description": "Database username", "isRequired": true},
      {"name": "DB_PASSWORD", "description": "Database password", "isRequired": true, "isSecret": true},
      {"name": "DB_PORT", "default": 5432},
      {"name": "DB_URL", "value": "pg://{user}@{host}", "variables": {"user": {}, "host": {"value": "localhost"}}},
      {"name": "FIXED", "value": "yes {really}"}
    ]
  }]
}"#;

#[test]
fn all_missing_inputs_are_reported_with_their_descriptions() {
    let error = fill_error(&read_one(DATABASE), &[]).to_string();
    assert_eq!(
        error,
        "these inputs have no value: DB_USERNAME (Database username); DB_PASSWORD (Database password); database_name (Name of the database)"
    );
    let FillError::Missing(inputs) = fill_error(
        &read_one(DATABASE),
        &[("database_name", " "), ("DB_USERNAME", "u")],
    ) else {
        panic!("something is missing")
    };
    assert_eq!(
        inputs
            .iter()
            .map(|input| input.name.as_str())
            .collect::<Vec<_>>(),
        ["DB_PASSWORD", "database_name"]
    );
}

#[test]
fn each_value_goes_to_its_place_and_an_omitted_input_leaves_no_trace() {
    let choice = read_one(DATABASE);
    let required = [
        ("DB_USERNAME", "u"),
        ("DB_PASSWORD", "p"),
        ("database_name", "shop"),
    ];
    assert_eq!(
        command_line(&choice, &required),
        "npx -y @example/database-manager-mcp@3.1.0 --host localhost --stdio shop"
    );
    let filled_spec = filled(&choice, &required);
    assert_eq!(
        filled_spec.spec.env,
        values(&[
            ("DB_USERNAME", "u"),
            ("DB_PORT", "5432"),
            ("FIXED", "yes {really}")
        ])
    );
    assert_eq!(filled_spec.secret_env, values(&[("DB_PASSWORD", "p")]));
    let all = [
        &required[..],
        &[
            ("--port", "80"),
            ("--read-only", "true"),
            ("--label=", "x y"),
            ("user", "me"),
            ("DB_PORT", ""),
        ],
    ];
    let all = all.concat();
    assert_eq!(
        filled(&choice, &all).spec.args[2..],
        [
            "--host",
            "localhost",
            "--port",
            "80",
            "--read-only",
            "--stdio",
            "--label=x y",
            "shop"
        ]
    );
    let env = filled(&choice, &all).spec.env;
    assert_eq!(env["DB_URL"], "pg://me@localhost");
    assert!(
        !env.contains_key("DB_PORT"),
        "an empty value takes the place of the default"
    );
}

#[test]
fn an_invalid_value_is_rejected_by_name() {
    let choice = read_one(DATABASE);
    for (name, value, expected) in [
        ("--port", "eighty", "'--port' must be a number"),
        ("--read-only", "yes", "'--read-only' must be true or false"),
        (
            "--colour",
            "red",
            "there is no input '--colour'; the inputs are: 'DB_USERNAME', ",
        ),
    ] {
        let error = fill_error(&choice, &[(name, value)]).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_variable_can_be_secret_but_an_argument_cannot() {
    let choice = read_one(DATABASE);
    let plain = values(&[("DB_PASSWORD", "p"), ("database_name", "shop")]);
    let filled_spec = choice
        .fill("x", &plain, &values(&[("DB_USERNAME", "u")]))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        filled_spec.secret_env,
        values(&[("DB_PASSWORD", "p"), ("DB_USERNAME", "u")])
    );
    let exposed = choice
        .fill(
            "x",
            &plain,
            &values(&[("DB_USERNAME", "u"), ("--host", "h")]),
        )
        .err();
    assert_eq!(exposed, Some(FillError::ExposedSecret("--host".into())));
}

#[test]
fn an_optional_secret_argument_is_not_an_input() {
    let choice = package(
        r#""registryType":"npm","identifier":"x","packageArguments":[{"type":"named","name":"--key","isSecret":true},
           {"type":"named","name":"--header","value":"{x}: {k}","variables":{"x":{},"k":{"isSecret":true}}}]"#,
    );
    assert_eq!(
        (&choice.problem, command_line(&choice, &[]).as_str()),
        (&None, "npx -y x")
    );
    assert!(choice.inputs.is_empty());
}

#[test]
fn inputs_with_equal_names_are_told_apart_and_identical_inputs_are_merged() {
    let path = |flag: &str, description: &str| {
        format!(
            r#"{{"type":"named","name":"{flag}","value":"{{path}}","variables":{{"path":{{"description":"{description}"}}}}}}"#
        )
    };
    let arguments = [
        path("--in", "read"),
        path("--out", "written"),
        path("--again", "read"),
    ]
    .join(",");
    let choice = package(&format!(
        r#""registryType":"npm","identifier":"x","packageArguments":[{arguments}]"#
    ));
    assert_eq!(names(&choice), ["path", "--out path"]);
    assert_eq!(
        command_line(&choice, &[("path", "/a"), ("--out path", "/b")]),
        "npx -y x --in /a --out /b --again /a"
    );
}
