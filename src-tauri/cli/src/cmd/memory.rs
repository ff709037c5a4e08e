//! `drawbridge memory`: lists, searches, shows, adds, edits, deletes and exports the entries of the
//! built-in memory server, and lists their categories.

use std::{
    io::{self, BufWriter, Read, Write},
    path::PathBuf,
};

use clap::Subcommand;
use drawbridge_hub::api::memory::{
    AddMemory, DeleteMemory, EditMemory, ListMemory, ListMemoryCategories, MemoryDeleted,
    ShowMemory,
};
use drawbridge_model::{
    ids::{Timestamp, UserName},
    memory::{MemoryCategory, MemoryEntry, MemoryPage},
};

use crate::{
    confirm::confirm,
    context::Context,
    exit::Failure,
    output,
    table::Table,
    text::{escape, escape_lines, format_count},
    time::{format_time, parse_time},
};

/// How many entries `list` shows by default.
const DEFAULT_LIMIT: u32 = 50;
/// The maximum number of entries that `list` shows.
const MAX_LIMIT: u32 = 500;
/// How many characters `list` shows of each entry.
const SHOWN_CHARS: usize = 80;

#[derive(Subcommand)]
pub(crate) enum Memory {
    /// List entries, newest first; with --query, the best matches first
    List {
        #[command(flatten)]
        filter: Filter,
        /// The maximum number of entries, at most 500
        #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
        limit: u32,
    },
    /// List the categories of each user
    Categories,
    /// Show one entry with its whole content
    Show {
        /// The entry's id, as shown by `memory list`
        id: u32,
    },
    /// Store an entry
    Add {
        /// The text to remember; `-` reads it from stdin
        #[arg(value_name = "TEXT")]
        content: String,
        /// The user whose entry it is
        #[arg(long, default_value = "default")]
        user: String,
        /// The category [default: general]
        #[arg(long, value_name = "NAME")]
        category: Option<String>,
        /// A tag. May be repeated.
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
    /// Change an entry
    ///
    /// Fields that are not given stay as they are.
    #[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
    Edit {
        /// The entry's id, as shown by `memory list`
        id: u32,
        /// The new text; `-` reads it from stdin
        #[arg(long, value_name = "TEXT", group = "change")]
        content: Option<String>,
        /// The new category
        #[arg(long, value_name = "NAME", group = "change")]
        category: Option<String>,
        /// A tag, in place of all tags that the entry has. May be repeated.
        #[arg(long = "tag", value_name = "TAG", group = "change")]
        tags: Vec<String>,
        /// Remove all tags
        #[arg(long, conflicts_with = "tags", group = "change")]
        no_tags: bool,
    },
    /// Delete entries for good
    Delete {
        /// The entries' ids, as shown by `memory list`
        #[arg(required = true, value_name = "ID", num_args = 1..=500)]
        ids: Vec<u32>,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Export entries as a JSON array, newest first; with --query, the best matches first
    Export {
        #[command(flatten)]
        filter: Filter,
        /// Write to this file, which only you can read, instead of stdout
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Which entries to list or export.
#[derive(Default, clap::Args)]
pub(crate) struct Filter {
    /// Only entries of this user
    #[arg(long)]
    user: Option<String>,
    /// Only entries with at least one of these words. A word of three letters or more also finds
    /// longer words that begin with it.
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,
    /// Only entries of this category
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// Only entries with this tag. May be repeated; all have to match.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only entries stored or changed since this time: a day (2026-11-21), a local time
    /// (2026-11-21T03:18), a time with a UTC offset (2026-11-21T03:18:46Z) or an age (7d)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Only entries last stored or changed before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
}

impl Filter {
    fn into_verb(self, limit: Option<u32>) -> ListMemory {
        ListMemory {
            user: self.user.map(UserName::new),
            query: self.query,
            category: self.category,
            tags: self.tags,
            since: self.since,
            until: self.until,
            cursor: None,
            limit,
        }
    }
}

impl Memory {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List { filter, limit } => {
                let verb = filter.into_verb(Some(limit));
                let is_filtered = verb != Filter::default().into_verb(Some(limit));
                context
                    .run_and_print(verb, |page| format_page(page, limit, is_filtered))
                    .await
            }
            Self::Categories => {
                context
                    .run_and_print(ListMemoryCategories {}, |categories| {
                        format_categories(categories)
                    })
                    .await
            }
            Self::Show { id } => context.run_and_print(ShowMemory { id }, format_entry).await,
            Self::Add {
                content,
                user,
                category,
                tags,
            } => {
                let verb = AddMemory {
                    user: UserName::new(user),
                    content: read_content(content)?,
                    category,
                    tags,
                };
                context
                    .run_and_print(verb, |entry| format!("Entry {} stored.", entry.id))
                    .await
            }
            Self::Edit {
                id,
                content,
                category,
                tags,
                no_tags,
            } => {
                let verb = EditMemory {
                    id,
                    content: content.map(read_content).transpose()?,
                    category,
                    tags: (no_tags || !tags.is_empty()).then_some(tags),
                };
                context
                    .run_and_print(verb, |entry| format!("Entry {} changed.", entry.id))
                    .await
            }
            Self::Delete { ids, yes } => delete_entries(context, ids, yes).await,
            Self::Export { filter, output } => export_entries(context, filter, output).await,
        }
    }
}

/// Returns `content`, or the text on stdin if `content` is `-`.
fn read_content(content: String) -> Result<String, Failure> {
    if content != "-" {
        return Ok(content);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

async fn delete_entries(context: &Context, ids: Vec<u32>, yes: bool) -> Result<(), Failure> {
    if !yes {
        let mut lines = Vec::new();
        for id in &ids {
            lines.push(format_entry(&context.run(ShowMemory { id: *id }).await?));
        }
        let question = format!("Delete {} for good?", format_entry_count(ids.len()));
        confirm(&lines.join("\n"), &question)?;
    }
    let format_deleted = |answer: &MemoryDeleted| {
        format!("{} deleted.", format_entry_count(answer.deleted as usize))
    };
    context
        .run_and_print(DeleteMemory { ids }, format_deleted)
        .await
}

async fn export_entries(
    context: &Context,
    filter: Filter,
    file: Option<PathBuf>,
) -> Result<(), Failure> {
    let mut verb = filter.into_verb(None);
    let mut entries = Vec::new();
    loop {
        let page = context.run(verb.clone()).await?;
        entries.extend(page.entries);
        verb.cursor = page.next;
        if verb.cursor.is_none() {
            break;
        }
    }
    let text = serde_json::to_string_pretty(&entries).expect("entries can be written as JSON");
    let Some(file) = file else {
        return output::print_line(&text);
    };
    let created = output::create_private_file(&file).map_err(|source| Failure::CreateFile {
        file: file.clone(),
        source,
    })?;
    let mut writer = BufWriter::new(created);
    writeln!(writer, "{text}")?;
    writer.flush()?;
    let answer = serde_json::json!({ "entries": entries.len(), "file": file });
    output::print_answer(context.json, &answer, |_| {
        format!(
            "Exported {} to {}.",
            format_entry_count(entries.len()),
            escape(&file.display().to_string())
        )
    })
}

fn format_page(page: &MemoryPage, limit: u32, is_filtered: bool) -> String {
    let mut table = Table::new(["ID", "USER", "CATEGORY", "TAGS", "UPDATED", "CONTENT"]);
    for entry in &page.entries {
        table.add_row([
            &entry.id.to_string(),
            entry.user.as_str(),
            &entry.category,
            &entry.tags.join(", "),
            &format_time(entry.updated_at),
            &shorten(&entry.content),
        ]);
    }
    let mut lines = table.format_or(if is_filtered {
        "No entries match."
    } else {
        "No entries. Clients add entries with the tool store_memory. To add one yourself, run `drawbridge memory add`."
    });
    if page.next.is_some() {
        lines.push_str(if limit < MAX_LIMIT {
            "\nThere are more entries: use --limit, or narrow the list."
        } else {
            "\nThere are more entries: narrow the list, or use `drawbridge memory export`."
        });
    }
    lines
}

/// Returns the beginning of the content, on one line.
fn shorten(content: &str) -> String {
    let words = content.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

fn format_entry(entry: &MemoryEntry) -> String {
    let stored_by = match &entry.client {
        Some(client) => format!("client {client}"),
        None => "a person".to_owned(),
    };
    format!(
        "id        {}\nuser      {}\ncategory  {}\ntags      {}\nstored    {} by {}\nupdated   {}\n\n{}",
        entry.id,
        escape(entry.user.as_str()),
        escape(&entry.category),
        escape(&entry.tags.join(", ")),
        format_time(entry.created_at),
        escape(&stored_by),
        format_time(entry.updated_at),
        escape_lines(&entry.content)
    )
}

fn format_categories(categories: &[MemoryCategory]) -> String {
    let mut table = Table::new(["USER", "CATEGORY", "ENTRIES", "UPDATED"]);
    for category in categories {
        table.add_row([
            category.user.as_str(),
            &category.name,
            &category.entries.to_string(),
            &format_time(category.updated_at),
        ]);
    }
    table.format_or("No entries.")
}

fn format_entry_count(count: usize) -> String {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    format_count(count, "entry", "entries")
}
