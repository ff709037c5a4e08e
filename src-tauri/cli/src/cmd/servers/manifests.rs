//! Formats presets, manifests and runtimes as text.

use std::fmt::Write;

use drawbridge_hub::api::servers::{ManifestView, PresetView};
use drawbridge_model::{manifest::ManifestInput, runtime::RuntimeStatus};

use crate::{
    table::Table,
    text::{enum_text, escape},
};

pub(super) fn format_presets(presets: &[PresetView]) -> String {
    let mut table = Table::new(["ID", "RUNTIME", "DESCRIPTION", "INPUTS"]);
    for preset in presets {
        let runtime = preset.choice.runtime.map(enum_text).unwrap_or_default();
        let is_installed = preset
            .runtime
            .as_ref()
            .is_none_or(|runtime| runtime.problem.is_empty());
        let runtime = if is_installed {
            runtime
        } else {
            format!("{runtime} (missing)")
        };
        let inputs: Vec<_> = preset.choice.inputs.iter().map(format_input_name).collect();
        table.add_row([
            &preset.id,
            &runtime,
            &preset.description,
            &inputs.join(", "),
        ]);
    }
    let mut lines = table.format_or("No presets.");
    let mut reported = Vec::new();
    for status in presets.iter().filter_map(|preset| preset.runtime.as_ref()) {
        if !status.problem.is_empty() && !reported.contains(&status.runtime) {
            reported.push(status.runtime);
            let _ = write!(
                lines,
                "\n{}. {}",
                escape(&status.problem),
                escape(&status.remedy)
            );
        }
    }
    lines
}

pub(super) fn format_runtimes(runtimes: &[RuntimeStatus]) -> String {
    let mut table = Table::new(["RUNTIME", "VERSION", "PATH", "PROBLEM"]);
    for runtime in runtimes {
        let problem = [runtime.problem.as_str(), &runtime.remedy].join(". ");
        let problem = if runtime.problem.is_empty() {
            ""
        } else {
            &problem
        };
        let version = runtime.version.as_deref().unwrap_or_default();
        table.add_row([
            &enum_text(runtime.runtime),
            version,
            runtime.path.as_deref().unwrap_or_default(),
            problem,
        ]);
    }
    table.format_or("No runtimes.")
}

/// Lists the packages and remotes of a manifest, numbered as for `--package`, with the inputs of
/// each.
pub(in crate::cmd) fn format_manifest(view: &ManifestView) -> String {
    let mut lines = format!("{} {}", escape(&view.name), escape(&view.version));
    if !view.description.is_empty() {
        let _ = write!(lines, "\n{}", escape(&view.description));
    }
    for (index, choice) in view.choices.iter().enumerate() {
        let headline = if choice.preview.is_empty() {
            &choice.label
        } else {
            &choice.preview
        };
        let _ = write!(lines, "\n\n{}  {}", index + 1, escape(headline));
        if !choice.problem.is_empty() {
            let _ = write!(lines, "\n   cannot be used: {}", escape(&choice.problem));
        }
        for input in &choice.inputs {
            let option = if input.secret { "--secret" } else { "--set" };
            let _ = write!(
                lines,
                "\n   {option} {}  {}",
                escape(&format_input_name(input)),
                escape(&format_description(input))
            );
        }
    }
    lines
}

/// Returns the name of an input, in brackets if the input is optional.
fn format_input_name(input: &ManifestInput) -> String {
    if input.required && input.default.is_none() {
        input.name.clone()
    } else {
        format!("[{}]", input.name)
    }
}

fn format_description(input: &ManifestInput) -> String {
    let mut text = input.description.clone();
    if !input.choices.is_empty() {
        let _ = write!(text, " (one of {})", input.choices.join(", "));
    }
    if let Some(default) = &input.default {
        let _ = write!(text, " [default: {default}]");
    }
    text
}

#[cfg(test)]
mod tests {
    use drawbridge_hub::api::servers::ManifestChoice;
    use drawbridge_model::{
        manifest::{InputFormat, InputKind},
        runtime::Runtime,
    };

    use super::*;

    fn preset() -> PresetView {
        let input = ManifestInput {
            name: "mode".into(),
            kind: InputKind::Env,
            description: "How it works".into(),
            required: true,
            secret: false,
            repeated: false,
            default: Some("fast".into()),
            choices: vec!["fast".into(), "slow".into()],
            placeholder: String::new(),
            format: InputFormat::Text,
            min: None,
            max: None,
        };
        let choice = ManifestChoice {
            label: "uvx x".into(),
            preview: "uvx x".into(),
            runtime: Some(Runtime::Uvx),
            inputs: vec![input],
            problem: String::new(),
        };
        let missing = RuntimeStatus {
            runtime: Runtime::Uvx,
            path: None,
            version: None,
            problem: "'uvx' was not found".into(),
            remedy: "Install uv.".into(),
        };
        let (id, title, description) = ("x".into(), "X".into(), "Does x.".into());
        PresetView {
            id,
            title,
            description,
            choice,
            runtime: Some(missing),
        }
    }

    #[test]
    fn a_missing_runtime_is_reported_once_with_its_remedy() {
        let lines = format_presets(&[preset(), preset()]);
        assert!(
            lines.contains("x   uvx (missing)  Does x.      [mode]"),
            "{lines}"
        );
        assert_eq!(
            lines.matches("'uvx' was not found. Install uv.").count(),
            1,
            "{lines}"
        );
    }

    #[test]
    fn a_manifest_shows_the_inputs_of_each_package() {
        let choices = vec![preset().choice];
        let (name, title, description) = ("a/x".into(), "X".into(), "Does x.".into());
        let lines = format_manifest(&ManifestView {
            name,
            title,
            description,
            version: "1".into(),
            choices,
        });
        assert_eq!(
            lines,
            "a/x 1\nDoes x.\n\n1  uvx x\n   --set [mode]  How it works (one of fast, slow) [default: fast]"
        );
    }
}
