//! The commands and their documentation.

use std::collections::BTreeSet;

use clap::CommandFactory;

use super::Args;

const DOCS: &str = include_str!("../../../../docs/command-line.md");

/// Returns the rows of the tables of commands in the docs: the cell with the command (`code`), and
/// the rest with its description.
fn rows() -> Vec<(&'static str, &'static str)> {
    DOCS.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once(" | "))
        .collect()
}

/// Calls `visit` for each command that runs without a subcommand, with the names of its path.
fn visit_commands(
    command: &clap::Command,
    path: &[&str],
    visit: &mut impl FnMut(&[&str], &clap::Command),
) {
    let subcommands = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help");
    if !path.is_empty() && !command.is_subcommand_required_set() {
        visit(path, command);
    }
    for subcommand in subcommands {
        let path: Vec<_> = path
            .iter()
            .copied()
            .chain([subcommand.get_name()])
            .collect();
        visit_commands(subcommand, &path, visit);
    }
}

/// Returns the words of a text that have the form of a command's name or of an option.
fn split_words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .collect()
}

#[test]
fn the_definition_of_the_arguments_is_valid() {
    Args::command().debug_assert();
}

#[test]
fn each_command_and_each_option_is_documented() {
    let mut missing = Vec::new();
    visit_commands(&Args::command(), &[], &mut |path, command| {
        let (noun, names) = path.split_first().expect("the program has subcommands");
        let documented: Vec<_> = rows()
            .into_iter()
            .filter(|(code, _)| {
                let words = split_words(code);
                words.contains(noun) && names.iter().all(|name| words.contains(name))
            })
            .collect();
        if documented.is_empty() {
            missing.push(path.join(" "));
        }
        for option in command.get_arguments() {
            let Some(long) = option.get_long().filter(|_| !option.is_hide_set()) else {
                continue;
            };
            let flag = format!("--{long}");
            let is_named = |(code, text): &(&str, &str)| {
                split_words(code).contains(flag.as_str())
                    || split_words(text).contains(flag.as_str())
            };
            if !option.is_global_set() && !documented.iter().any(is_named) {
                missing.push(format!("{} {flag}", path.join(" ")));
            }
        }
    });
    assert!(missing.is_empty(), "docs/command-line.md lacks {missing:?}");
}

#[test]
fn each_documented_option_exists_and_no_hidden_alias_is_documented() {
    let mut options = BTreeSet::new();
    let mut hidden = BTreeSet::new();
    visit_commands(&Args::command(), &[], &mut |_, command| {
        options.extend(
            command
                .get_arguments()
                .filter_map(|option| Some(format!("--{}", option.get_long()?))),
        );
        let visible: BTreeSet<_> = command.get_visible_aliases().collect();
        hidden.extend(
            command
                .get_all_aliases()
                .filter(|alias| !visible.contains(alias))
                .map(str::to_owned),
        );
    });
    options.extend(["--json", "--data-dir"].map(str::to_owned));
    for (code, description) in rows() {
        for word in split_words(code)
            .into_iter()
            .chain(split_words(description))
        {
            assert!(
                !word.starts_with("--") || word == "--" || options.contains(word),
                "no command has {word}"
            );
        }
        let names = split_words(code);
        assert!(
            hidden.iter().all(|alias| !names.contains(alias.as_str())),
            "{code} names one of {hidden:?}"
        );
    }
    // `servers sign-in` has this hidden alias, so the check above was not empty.
    assert!(hidden.contains("authorize"), "{hidden:?}");
}

#[test]
fn each_command_of_the_policy_has_one_name() {
    let command = Args::command();
    let policy = command
        .find_subcommand("policy")
        .expect("the command exists");
    for command in policy.get_subcommands() {
        let aliases: Vec<_> = command.get_all_aliases().collect();
        assert!(aliases.is_empty(), "{}: {aliases:?}", command.get_name());
    }
}
