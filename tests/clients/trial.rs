//! One program's trial: connect, list, call a tool, test, undo.

use std::{collections::BTreeMap, fs, path::PathBuf};

use drawbridge_tests::{Home, paths};
use serde_json::Value;

use crate::{
    TASK,
    command::{self, CommandOutput},
    model::Model,
    packages_dir,
    programs::Program,
};

/// The contents of files; `None` for a file that does not exist.
type Contents = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Runs trials, with the state that all of them share.
pub(crate) struct TrialRunner<'a> {
    home: &'a Home,
    model: &'a Model,
    /// The folder in which the programs work.
    project: PathBuf,
}

/// The result of a trial.
pub(crate) struct Report {
    pub(crate) program: &'static Program,
    pub(crate) version: String,
    pub(crate) listing: Option<CommandOutput>,
    pub(crate) conversation: Option<CommandOutput>,
    /// The name and version that the program told Drawbridge.
    pub(crate) software: Option<String>,
    /// The name under which the model was offered the tool.
    pub(crate) tool_name: Option<String>,
    /// The number of tools that `drawbridge config test` lists.
    pub(crate) tool_count: u64,
    /// The files that connecting changed. Undoing restored all of them if there are no failures.
    pub(crate) changed_files: Vec<String>,
    /// The files of `changed_files` that the program changed while it was connected.
    pub(crate) own_changes: Vec<String>,
    /// The expectations that were not met.
    pub(crate) failures: Vec<String>,
}

impl<'a> TrialRunner<'a> {
    pub(crate) fn new(home: &'a Home, model: &'a Model) -> Self {
        let project = home.file("home/project");
        fs::create_dir_all(&project).expect("a folder to work in");
        Self {
            home,
            model,
            project,
        }
    }

    /// Runs a program's trial.
    pub(crate) fn run(&self, program: &'static Program) -> Report {
        let client = program.client;
        let mut report = Report {
            program,
            version: package_version(program.package),
            listing: None,
            conversation: None,
            software: None,
            tool_name: None,
            tool_count: 0,
            changed_files: Vec::new(),
            own_changes: Vec::new(),
            failures: Vec::new(),
        };
        for (path, text) in program.files {
            let path = PathBuf::from(self.fill(path));
            fs::create_dir_all(path.parent().expect("a folder")).expect("create the folder");
            fs::write(&path, self.fill(text)).expect("write the file");
        }
        if let Some(setup) = program.setup {
            let output = self.run_command(setup, &[]);
            report.expect_success(&output);
        }
        let files = self.list_files_to_change(client);
        let before = read_all(&files);
        self.connect(client);
        let connected = read_all(&files);

        self.list(program, &mut report);
        self.converse(program, &mut report);
        let tested = self.home.cli(&["config", "test", client, "--json"]);
        let tested: Value = serde_json::from_str(&tested.stdout()).unwrap_or_default();
        report.tool_count = tested["tools"].as_u64().unwrap_or_default();
        if report.tool_count == 0 {
            let problem = format!("`drawbridge config test` reports {}", tested["problem"]);
            report.failures.push(problem);
        }

        let at_the_end = read_all(&files);
        report.own_changes = self.differing(&connected, &at_the_end);
        self.undo(client);
        if !report.own_changes.is_empty() {
            // The program's changes remain, because Drawbridge removes only its own entry. Connect
            // and undo once more without running the program: this has to restore the files byte
            // for byte.
            self.expect_no_entry(&files, &mut report);
            write_all(&before);
            self.connect(client);
            self.undo(client);
        }
        let after = read_all(&files);
        for file in self.differing(&before, &after) {
            let failure = format!("{file} is not as before");
            report.failures.push(failure);
        }
        report.changed_files = files.iter().map(|file| self.tidy_path(file)).collect();
        report
    }

    fn connect(&self, client: &str) {
        self.home
            .cli(&["config", "connect", client, "--yes"])
            .expect_success();
    }

    fn undo(&self, client: &str) {
        self.home.cli(&["config", "undo", client]).expect_success();
    }

    /// Runs the command that lists the servers.
    fn list(&self, program: &Program, report: &mut Report) {
        let Some(listing) = &program.listing else {
            return;
        };
        let output = self.run_command(listing.command, &[]);
        report.expect_success(&output);
        if !output.text.contains(listing.expected) {
            let failure = format!("`{}` did not print '{}'", output.line, listing.expected);
            report.failures.push(failure);
        }
        report.software = self.find_software(program.client);
        if listing.connects && report.software.is_none() {
            let failure = format!("`{}` did not reach Drawbridge", output.line);
            report.failures.push(failure);
        }
        report.listing = Some(output);
    }

    /// Runs the command that sends a prompt, and checks that the tool's result reaches the model.
    fn converse(&self, program: &Program, report: &mut Report) {
        let Some(conversation) = &program.conversation else {
            return;
        };
        self.model.reset();
        let output = self.run_command(conversation.command, conversation.variables);
        report.expect_success(&output);
        let record = self.model.read_record();
        let requests = paths::output_file(format!("clients/{}-requests.txt", program.client));
        fs::write(&requests, record.requests.join("\n")).expect("keep the requests");
        if !record.has_result {
            let reason = match &record.tool_name {
                Some(name) => format!("the result of {name} did not reach the model"),
                None => format!("{} was not offered to the model", TASK.tool),
            };
            report.failures.push(format!("`{}`: {reason}", output.line));
        }
        if !self.has_answered_call(program.client) {
            let failure = format!(
                "`{}`: Drawbridge has recorded no answered call",
                output.line
            );
            report.failures.push(failure);
        }
        report.software = self.find_software(program.client);
        report.tool_name = record.tool_name;
        report.conversation = Some(output);
    }

    /// Returns whether the hub has recorded a call of this client that the server answered.
    fn has_answered_call(&self, client: &str) -> bool {
        let calls = self.home.cli(&["calls", "list", "--json"]).expect_json();
        let calls = calls.as_array().expect("a list");
        calls
            .iter()
            .any(|call| call["client"] == client && call["outcome"] == "ok")
    }

    fn find_software(&self, client: &str) -> Option<String> {
        let clients = self.home.cli(&["clients", "list", "--json"]).expect_json();
        let clients = clients.as_array().expect("a list");
        let entry = clients.iter().find(|entry| entry["name"] == client)?;
        entry["software"].as_str().map(str::to_owned)
    }

    fn list_files_to_change(&self, client: &str) -> Vec<PathBuf> {
        let preview = self
            .home
            .cli(&["config", "diff", client, "--json"])
            .expect_json();
        let files = preview["files"].as_array().expect("files");
        let path = |file: &Value| PathBuf::from(file["path"].as_str().expect("a path"));
        files.iter().map(path).collect()
    }

    fn expect_no_entry(&self, files: &[PathBuf], report: &mut Report) {
        for (path, bytes) in read_all(files) {
            let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
            if text.contains("\"drawbridge\"") {
                let failure = format!("{} still has the entry", self.tidy_path(&path));
                report.failures.push(failure);
            }
        }
    }

    fn differing(&self, before: &Contents, after: &Contents) -> Vec<String> {
        before
            .iter()
            .filter(|(path, bytes)| after[*path] != **bytes)
            .map(|(path, _)| self.tidy_path(path))
            .collect()
    }

    fn run_command(&self, words: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
        let words: Vec<String> = words.iter().map(|word| self.fill(word)).collect();
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), self.fill(value)))
            .collect();
        let output = command::run(self.home, &self.project, &words, &variables);
        CommandOutput {
            line: self.tidy(&shell_line(&words)),
            text: self.tidy(&output.text),
            ..output
        }
    }

    /// Replaces the placeholders in braces.
    fn fill(&self, text: &str) -> String {
        let text = text.replace("{home}", &paths::path_text(self.home.file("home")));
        let text = text.replace("{config}", &paths::path_text(self.home.file("config")));
        let text = text.replace("{project}", &paths::path_text(&self.project));
        text.replace("{model}", &self.model.url)
    }

    fn tidy_path(&self, path: &std::path::Path) -> String {
        self.tidy(&paths::path_text(path)).trim_end().to_owned()
    }

    /// Replaces the paths and the port that differ between runs, and removes escape sequences.
    fn tidy(&self, text: &str) -> String {
        let mut text = strip_escapes(text);
        let program = paths::built_binary("drawbridge");
        for (path, name) in [
            (self.home.file("home"), "~"),
            (self.home.file("config"), "$XDG_CONFIG_HOME"),
            (self.home.data_dir(), "DATA"),
            (self.home.path().to_owned(), "TEMP"),
            (packages_dir(), "node_modules"),
            (program, "drawbridge"),
        ] {
            text = text.replace(&paths::path_text(path), name);
        }
        let text = text.replace(&self.model.url, "http://127.0.0.1:PORT");
        let lines = text.lines().map(str::trim_end);
        let lines = lines.collect::<Vec<_>>().join("\n");
        lines.trim_matches('\n').to_owned()
    }
}

impl Report {
    fn expect_success(&mut self, output: &CommandOutput) {
        if let Some(failure) = &output.failure {
            self.failures
                .push(format!("`{}`: {failure}\n{}", output.line, output.text));
        }
    }
}

fn read_all(files: &[PathBuf]) -> Contents {
    let read = |path: &PathBuf| (path.clone(), fs::read(path).ok());
    files.iter().map(read).collect()
}

fn write_all(contents: &Contents) {
    for (path, bytes) in contents {
        match bytes {
            Some(bytes) => fs::write(path, bytes).expect("write the file"),
            None => drop(fs::remove_file(path)),
        }
    }
}

fn package_version(package: &str) -> String {
    let file = packages_dir().join(package).join("package.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("read {}: {e}", file.display()));
    let package: Value = serde_json::from_str(&text).expect("package.json is JSON");
    let version = package["version"].as_str().expect("a version");
    version.to_owned()
}

fn shell_line(words: &[String]) -> String {
    let quote = |word: &String| {
        if word.contains([' ', '*']) {
            format!("'{word}'")
        } else {
            word.clone()
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Removes the escape sequences for colours and the cursor.
fn strip_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' if rest.peek() == Some(&'[') => {
                rest.next();
                rest.by_ref().find(|c| c.is_ascii_alphabetic());
            }
            '\r' | '\0' => {}
            _ => plain.push(c),
        }
    }
    plain
}
