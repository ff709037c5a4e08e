//! The CPU time and memory that a server's process tree uses, and the memory that processes of
//! servers outside the tree of this process use.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// The usage of a process and of all processes that it started.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    pub processes: u32,
    /// Resident memory in bytes. Memory that processes share counts for each of them.
    pub memory: u64,
    /// Percent of one core since the last measurement, or 0 at the first measurement.
    pub cpu_percent: f32,
    /// CPU time in milliseconds, since each process began.
    pub cpu_ms: u64,
}

/// Measures process trees. Cheap to clone. All clones share the last measurement.
#[derive(Clone, Default)]
pub struct UsageMeter(Arc<Mutex<Option<System>>>);

impl UsageMeter {
    /// Returns the usage of each of these processes with its tree, by process id. A process that
    /// has ended is not in the result.
    pub async fn read_usage(&self, pids: Vec<u32>) -> BTreeMap<u32, Usage> {
        let meter = self.clone();
        tokio::task::spawn_blocking(move || meter.read_usage_blocking(&pids))
            .await
            .unwrap_or_default()
    }

    /// Returns, for each of these command lines, how many processes run it outside the tree of this
    /// process (`processes`), with the memory of their trees. The CPU usage is 0. No process runs
    /// an empty command line.
    pub async fn find_processes(&self, commands: Vec<Vec<String>>) -> Vec<Usage> {
        let nothing = vec![Usage::default(); commands.len()];
        tokio::task::spawn_blocking(move || find_processes_blocking(&commands))
            .await
            .unwrap_or(nothing)
    }

    fn read_usage_blocking(&self, pids: &[u32]) -> BTreeMap<u32, Usage> {
        let mut last_system = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If the system gives no information, the usage is unknown.
        let Some(mut system) = last_system.take().or_else(|| System::new().ok()) else {
            return BTreeMap::new();
        };
        let refresh_kind = ProcessRefreshKind::nothing()
            .with_memory()
            .with_cpu()
            .without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, refresh_kind);
        let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
        for (pid, process) in system.processes() {
            if let Some(parent) = process.parent() {
                children.entry(parent).or_default().push(*pid);
            }
        }
        let measure = |pid: &u32| {
            let root = Pid::from_u32(*pid);
            system.process(root)?;
            Some((
                *pid,
                process_tree(root, &children)
                    .filter_map(|pid| system.process(pid))
                    .fold(Usage::default(), add_process),
            ))
        };
        let usages = pids.iter().filter_map(measure).collect();
        *last_system = Some(system);
        usages
    }
}

fn find_processes_blocking(commands: &[Vec<String>]) -> Vec<Usage> {
    let Ok(mut system) = System::new() else {
        return vec![Usage::default(); commands.len()];
    };
    let refresh_kind = ProcessRefreshKind::nothing()
        .with_memory()
        .with_cmd(UpdateKind::Always)
        .without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, refresh_kind);
    let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for (pid, process) in system.processes() {
        if let Some(parent) = process.parent() {
            children.entry(parent).or_default().push(*pid);
        }
    }
    let own: BTreeSet<Pid> = process_tree(Pid::from_u32(std::process::id()), &children).collect();
    let lines: BTreeMap<Pid, String> = system
        .processes()
        .iter()
        .filter(|(pid, _)| !own.contains(pid))
        .map(|(pid, process)| {
            let words: Vec<_> = process
                .cmd()
                .iter()
                .map(|word| word.to_string_lossy())
                .collect();
            (*pid, words.join(" "))
        })
        .collect();
    commands
        .iter()
        .map(|command| {
            let Some(end) = line_end(command) else {
                return Usage::default();
            };
            let runs_command = |pid: &Pid| lines.get(pid).is_some_and(|line| ends_with(line, &end));
            let parent_runs_command = |pid: &Pid| {
                let parent = system.process(*pid).and_then(Process::parent);
                parent.is_some_and(|parent| runs_command(&parent))
            };
            let roots = lines
                .keys()
                .filter(|pid| runs_command(pid) && !parent_runs_command(pid));
            let memory = |root: &Pid| -> u64 {
                process_tree(*root, &children)
                    .filter_map(|pid| system.process(pid))
                    .map(Process::memory)
                    .sum()
            };
            roots.fold(Usage::default(), |sum, root| Usage {
                processes: sum.processes + 1,
                memory: sum.memory + memory(root),
                ..sum
            })
        })
        .collect()
}

/// Returns the text with which the command line of each process that runs this command ends. `npx`,
/// `uvx` and other runners start a process with another command line, which ends with the same
/// package and arguments.
fn line_end(command: &[String]) -> Option<String> {
    let (program, args) = command.split_first()?;
    let args = args.join(" ");
    let args = args.trim_start_matches("-y ").trim_start_matches("--yes ");
    if args.is_empty() {
        return Some(program.clone());
    }
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    match name {
        "npx" | "uvx" | "bunx" | "pnpm" | "npm" => Some(args.to_owned()),
        _ => Some(format!("{name} {args}")),
    }
}

/// Returns whether a command line ends with `end`, and `end` begins there at a word or at a
/// component of a path.
fn ends_with(line: &str, end: &str) -> bool {
    line.strip_suffix(end)
        .is_some_and(|start| start.is_empty() || start.ends_with([' ', '/', '\\']))
}

/// Returns a process and all its descendants.
fn process_tree(root: Pid, children: &BTreeMap<Pid, Vec<Pid>>) -> impl Iterator<Item = Pid> {
    let mut waiting = vec![root];
    std::iter::from_fn(move || {
        let next = waiting.pop()?;
        waiting.extend(children.get(&next).into_iter().flatten());
        Some(next)
    })
}

fn add_process(sum: Usage, process: &Process) -> Usage {
    Usage {
        processes: sum.processes + 1,
        memory: sum.memory + process.memory(),
        cpu_percent: sum.cpu_percent + process.cpu_usage(),
        cpu_ms: sum.cpu_ms + process.accumulated_cpu_time(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[tokio::test]
    async fn the_usage_is_that_of_the_whole_tree_and_an_ended_process_is_omitted() {
        let mut shell = Command::new("sh");
        let mut child = shell
            .args(["-c", "sleep 60 & echo started; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the shell");
        let mut line = String::new();
        let mut stdout = std::io::BufReader::new(child.stdout.take().expect("stdout"));
        std::io::BufRead::read_line(&mut stdout, &mut line).expect("the shell reports its start");
        let meter = UsageMeter::default();
        let usage = meter.read_usage(vec![child.id()]).await[&child.id()];
        assert_eq!(usage.processes, 2, "the shell and its child are counted");
        assert!(
            (100_000..1_000_000_000).contains(&usage.memory),
            "{} bytes",
            usage.memory
        );
        Command::new("pkill")
            .args(["-P", &child.id().to_string()])
            .status()
            .expect("run pkill");
        child.wait().expect("wait for the shell");
        assert!(meter.read_usage(vec![child.id()]).await.is_empty());
    }
}
