//! Import cycles: if a module imports a second module, the second module must not import the first,
//! directly or through other modules. A folder counts as one module. Only a module and its own
//! children may import each other.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_tests::source::{contains_word, list_sources};
use syn::{Attribute, Item, ItemFn, ItemImpl, ItemMod, ItemUse, Meta, Path, UseTree, visit::Visit};

use super::{PRODUCT, assert_none};

/// The path of a module below the root of its crate. The root itself is empty.
type Module = Vec<String>;

/// The modules of a crate, each with the modules that it imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Collects the paths that a module names, as segments from the root of the crate.
struct Paths<'a> {
    module: &'a [String],
    found: BTreeSet<Vec<String>>,
}

impl Paths<'_> {
    /// Adds a path that begins with `crate`, `self` or `super`. Other paths leave the crate or
    /// begin with a name that is already imported.
    fn add(&mut self, segments: &[String]) {
        let mut base = match segments.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.to_vec(),
            _ => return,
        };
        let supers = segments.iter().take_while(|segment| *segment == "super");
        base.truncate(base.len() - supers.count().min(base.len()));
        let rest = segments
            .iter()
            .skip_while(|segment| ["crate", "self", "super"].contains(&segment.as_str()));
        base.extend(rest.cloned());
        self.found.insert(base);
    }

    fn add_tree(&mut self, prefix: &[String], tree: &UseTree) {
        let with = |name: String| [prefix, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.add(&with(name.ident.to_string())),
            UseTree::Rename(rename) => self.add(&with(rename.ident.to_string())),
            UseTree::Glob(_) => self.add(prefix),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|item| self.add_tree(prefix, item)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_test_only(&item.attrs) {
            self.add_tree(&[], &item.tree);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_impl(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.add(&segments);
        syn::visit::visit_path(self, path);
    }
}

/// Returns whether an item exists only for tests or only for fuzzing.
fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition = list.tokens.to_string();
        list.path.is_ident("cfg")
            && (contains_word(&condition, "test") || condition.contains("\"fuzzing\""))
            && !condition.contains("not")
    })
}

/// Returns the modules in files of their own that a file declares only for tests or fuzzing.
fn test_only_modules<'a>(
    module: &'a [String],
    file: &'a syn::File,
) -> impl Iterator<Item = Module> + use<'a> {
    file.items.iter().filter_map(move |item| {
        let Item::Mod(child) = item else { return None };
        let is_excluded = child.content.is_none() && is_test_only(&child.attrs);
        is_excluded.then(|| [module, &[child.ident.to_string()]].concat())
    })
}

/// Returns the imports of the modules in a folder with the sources of a crate.
fn read_imports(folder: &str) -> Imports {
    let mut files: BTreeMap<Module, syn::File> = list_sources(folder, &["rs"])
        .into_iter()
        .filter(|source| !source.is_test())
        .map(|source| {
            let file = syn::parse_file(&source.text)
                .unwrap_or_else(|error| panic!("{}: {error}", source.path));
            (module_of(folder, &source.path), file)
        })
        .collect();
    let test_only: BTreeSet<Module> = files
        .iter()
        .flat_map(|(module, file)| test_only_modules(module, file))
        .collect();
    files.retain(|module, _| !test_only.contains(module));
    files
        .iter()
        .map(|(module, file)| {
            let mut paths = Paths {
                module,
                found: BTreeSet::new(),
            };
            paths.visit_file(file);
            let imported = paths.found.iter().filter_map(|path| {
                let mut prefixes = (1..=path.len()).rev().map(|length| path[..length].to_vec());
                prefixes.find(|prefix| files.contains_key(prefix))
            });
            (module.clone(), imported.collect())
        })
        .collect()
}

fn module_of(folder: &str, path: &str) -> Module {
    let inner = path
        .trim_start_matches(folder)
        .trim_start_matches('/')
        .trim_end_matches(".rs");
    match inner {
        "lib" | "main" => Module::new(),
        _ => inner.split('/').map(str::to_owned).collect(),
    }
}

/// Returns the imports between siblings: if a part of `a::b` imports a part of `a::c`, `a::b`
/// imports `a::c`. An import between a module and a module inside it is excluded.
fn between_siblings(imports: &Imports) -> Imports {
    let mut siblings = Imports::new();
    for (module, imported) in imports {
        for other in imported {
            let common = module.iter().zip(other).take_while(|(a, b)| a == b).count();
            if common < module.len().min(other.len()) {
                let (importer, imported) = (&module[..=common], &other[..=common]);
                siblings.entry(imported.to_vec()).or_default();
                siblings
                    .entry(importer.to_vec())
                    .or_default()
                    .insert(imported.to_vec());
            }
        }
    }
    siblings
}

/// Returns the modules that a module imports, directly or through other modules.
fn reachable<'a>(imports: &'a Imports, from: &'a Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(module) = pending.pop() {
        for next in &imports[module] {
            if reached.insert(next) {
                pending.push(next);
            }
        }
    }
    reached
}

/// Returns the cycles, each as the list of its modules.
fn find_cycles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let imports = between_siblings(imports);
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = imports
        .keys()
        .map(|module| (module, reachable(&imports, module)))
        .collect();
    let cycle_of = |module: &Module| -> Vec<String> {
        let members = reach[module]
            .iter()
            .filter(|other| reach[**other].contains(module));
        members.map(|member| member.join("::")).collect()
    };
    imports
        .keys()
        .filter(|module| reach[*module].contains(module))
        .map(cycle_of)
        .collect()
}

#[test]
fn no_modules_import_each_other() {
    let cycles: Vec<String> = PRODUCT
        .iter()
        .flat_map(|folder| {
            let cycles = find_cycles(&read_imports(folder));
            cycles
                .into_iter()
                .map(move |cycle| format!("{folder}: {}", cycle.join(", ")))
        })
        .collect();
    assert_none("no modules import each other in a cycle", &cycles);
}

#[test]
fn a_cycle_through_a_third_module_is_found() {
    let module = |name: &str| -> Module { name.split("::").map(str::to_owned).collect() };
    let imports: Imports = [
        ("a", vec!["b::child"]),
        ("b", vec!["b::child", "c"]),
        ("b::child", vec!["b"]),
        ("c::child", vec!["a"]),
        ("d", vec!["a"]),
    ]
    .into_iter()
    .map(|(name, imported)| (module(name), imported.into_iter().map(module).collect()))
    .collect();
    let cycle = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(find_cycles(&imports), BTreeSet::from([cycle]));
}
