/** The memory of the fake hub. */

import { IpcError } from "..";
import type {
  AddMemory,
  EditMemory,
  ListMemory,
  MemoryCategory,
  MemoryEntry,
  MemoryPage,
} from "../bindings";

const HOUR_MS = 3_600_000;

export function memoryEntries(): MemoryEntry[] {
  const entries: [string, string, string[], string, string | null][] = [
    ["Prefers tabs over spaces, and 100 columns.", "coding", ["style"], "default", "claude-code"],
    [
      "The website is deployed with `make deploy` from the main branch, never on Fridays.",
      "coding",
      ["website", "deploy"],
      "default",
      "cursor",
    ],
    ["Vegetarian; allergic to peanuts.", "personal", ["food"], "default", "claude-code"],
    ["Flies from Zurich, prefers the train below six hours.", "travel", [], "default", null],
    ["The team meets on Tuesdays at ten.", "work", ["meetings"], "grace", "desk"],
  ];
  return entries
    .map(([content, category, tags, user, client], index) => ({
      id: index + 1,
      user,
      client,
      content,
      category,
      tags,
      created_at: Date.now() - (entries.length - index) * 30 * HOUR_MS,
      updated_at: Date.now() - (entries.length - index) * 26 * HOUR_MS,
    }))
    .toReversed();
}

export function listMemory(entries: MemoryEntry[], filter: ListMemory): MemoryPage {
  const words = (filter.query ?? "").toLowerCase().split(/\W+/).filter(Boolean);
  const matching = entries.filter((entry) => {
    const text = `${entry.content} ${entry.category} ${entry.tags.join(" ")}`.toLowerCase();
    return (
      (!filter.user || entry.user === filter.user) &&
      (!filter.category || entry.category === filter.category) &&
      filter.tags.every((tag) => entry.tags.includes(tag)) &&
      (words.length === 0 || words.some((word) => text.includes(word)))
    );
  });
  const offset = filter.cursor?.offset ?? 0;
  const end = offset + (filter.limit ?? 500);
  return {
    entries: matching.slice(offset, end),
    next: end < matching.length ? { offset: end, max_id: entries.length } : null,
  };
}

export function listMemoryCategories(entries: MemoryEntry[]): MemoryCategory[] {
  const found = new Map<string, MemoryCategory>();
  for (const { user, category, updated_at } of entries) {
    const key = JSON.stringify([user, category]);
    const known = found.get(key) ?? { user, name: category, entries: 0, updated_at };
    found.set(key, { ...known, entries: known.entries + 1 });
  }
  return [...found.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, category]) => category);
}

export function createMemoryEntry(entries: MemoryEntry[], added: AddMemory): MemoryEntry {
  if (!added.content.trim()) throw new IpcError("invalid", "The content is empty.");
  return {
    id: Math.max(0, ...entries.map(({ id }) => id)) + 1,
    user: added.user,
    client: null,
    content: added.content,
    category: (added.category ?? "general").toLowerCase(),
    tags: added.tags.toSorted(),
    created_at: Date.now(),
    updated_at: Date.now(),
  };
}

export function applyMemoryEdit(entry: MemoryEntry, change: EditMemory): MemoryEntry {
  return {
    ...entry,
    content: change.content ?? entry.content,
    category: (change.category ?? entry.category).toLowerCase(),
    tags: change.tags?.toSorted() ?? entry.tags,
    updated_at: Date.now(),
  };
}
