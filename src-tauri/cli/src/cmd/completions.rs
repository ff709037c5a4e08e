//! `drawbridge completions`: prints the completion script of a shell.

use std::io;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::{exit::Failure, output::print_line};

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell that reads the script
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script for `program`.
    pub(crate) fn run(&self, program: Command) -> Result<(), Failure> {
        print_line(format_script(self.shell, program).trim_end())
    }
}

fn format_script(shell: Shell, mut program: Command) -> String {
    let mut script = Vec::new();
    generate(
        shell,
        &mut program,
        "drawbridge",
        &mut script as &mut dyn io::Write,
    );
    String::from_utf8(script).expect("the names and texts of the commands are UTF-8")
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ValueEnum};

    use super::*;

    #[test]
    fn the_script_of_each_shell_names_the_commands_and_options() {
        for shell in Shell::value_variants() {
            let program = Command::new("drawbridge")
                .arg(Arg::new("data-dir").long("data-dir"))
                .subcommand(Command::new("servers"));
            let script = format_script(*shell, program);
            for word in ["servers", "data-dir"] {
                assert!(script.contains(word), "{shell}: no {word}");
            }
        }
    }
}
