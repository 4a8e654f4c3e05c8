//! Owns a site's additions to the catalogue: scenarios, rules and glossaries beside the built-in ones, checked as strictly
//! and with the line of every fault.

mod document;
mod scenario;
mod verdict;

pub use verdict::SiteVerdict;

use super::{Area, Catalog, Entry, Glossary, Pattern, Rule, Term, WaitCategory};
use document::Document;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is wrong with a file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// Line, from 1; `None` where the file as a whole is meant.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// A catalogue with a site's additions.
#[derive(Debug, Clone, PartialEq)]
pub struct WithSite {
    /// Everything that has no fault.
    pub catalog: Catalog,
    /// Every fault, in the order of files and lines.
    pub faults: Vec<Fault>,
    /// The site's rules, with the places of their examples.
    pub rules: Vec<SiteRule>,
    /// How much was added of each kind, in words.
    pub added: BTreeMap<&'static str, usize>,
}

/// Where a rule of a site stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteRule {
    /// Its id.
    pub id: String,
    /// Where it begins; the message is empty.
    pub place: Fault,
    /// The places of the stacks that it must match.
    pub must_match: Vec<Fault>,
    /// The places of the stacks that it must not match.
    pub must_not_match: Vec<Fault>,
}

/// The files that a site's folder may hold, below it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Scenario(String),
    Verdict(String),
    Symbols(&'static str),
}

/// The files of `symbols/` that a site may have.
pub const SYMBOLS: [&str; 6] = ["rules", "plumbing", "areas", "spinlocks", "latches", "waits"];

/// The kind of file that a path ends like.
fn kind(path: &str) -> Option<Kind> {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    match parts.as_slice() {
        [.., "sessions", name, "scenario.toml"] => Some(Kind::Scenario((*name).to_owned())),
        [.., "sessions", name, "verdict.toml"] => Some(Kind::Verdict((*name).to_owned())),
        [.., "symbols", file] => {
            let stem = file.strip_suffix(".toml")?;
            SYMBOLS.into_iter().find(|known| *known == stem).map(Kind::Symbols)
        }
        _ => None,
    }
}

/// Whether a path, below a site's folder or whole, is one of a catalogue file.
pub fn is_catalog_file(path: &str) -> bool {
    kind(path).is_some()
}

/// A site's `symbols/plumbing.toml`: further frames.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SitePlumbing {
    #[serde(default)]
    events: Vec<Pattern>,
    #[serde(default)]
    primitives: Vec<Pattern>,
    #[serde(default)]
    spinlocks: Vec<Pattern>,
}

impl Catalog {
    /// The catalogue with a site's files, given by path and text; what a file is, the end of its path tells:
    /// `sessions/<name>/scenario.toml`, `sessions/<name>/verdict.toml`, or a file of `symbols/`. Entries of a site come
    /// before the built-in ones, and the first that matches counts; ids and names that exist already are faults.
    pub fn with_site<P: AsRef<str>, T: AsRef<str>>(self, files: &[(P, T)]) -> WithSite {
        let built_in = self.sessions.scenarios().iter().map(|scenario| scenario.name.clone()).collect();
        let mut adding =
            Adding { catalog: self, built_in, faults: Vec::new(), rules: Vec::new(), added: BTreeMap::new() };
        let mut new = New::default();
        let mut verdicts = Vec::new();
        for (path, text) in files {
            let path = path.as_ref();
            let Some(kind) = kind(path) else {
                let message = "is no catalogue file".to_owned();
                adding.faults.push(Fault { file: path.to_owned(), line: None, message });
                continue;
            };
            let Some(document) = Document::parse(path, text.as_ref(), &mut adding.faults) else { continue };
            match kind {
                Kind::Scenario(folder) => adding.scenario(&document, &folder),
                Kind::Verdict(folder) => verdicts.push((folder, document)),
                Kind::Symbols(stem) => adding.symbols(&document, stem, &mut new),
            }
        }
        // Its scenario may come after it.
        for (folder, document) in verdicts {
            adding.verdict(&document, &folder);
        }
        new.before(&mut adding.catalog);
        let Adding { catalog, mut faults, rules, added, .. } = adding;
        faults.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        WithSite { catalog, faults, rules, added }
    }
}

/// What is gathered while a site's files are read.
struct Adding {
    catalog: Catalog,
    /// Names of the scenarios that were there before.
    built_in: Vec<String>,
    faults: Vec<Fault>,
    rules: Vec<SiteRule>,
    added: BTreeMap<&'static str, usize>,
}

/// Entries of the site, in the order of its files.
#[derive(Default)]
struct New {
    rules: Vec<Rule>,
    areas: Vec<Area>,
    spinlocks: Vec<Term>,
    latches: Vec<Term>,
    categories: Vec<WaitCategory>,
}

impl New {
    /// Puts them before the built-in ones.
    fn before(self, catalog: &mut Catalog) {
        catalog.rules.rule.splice(0..0, self.rules);
        catalog.areas.area.splice(0..0, self.areas);
        catalog.spinlocks.term.splice(0..0, self.spinlocks);
        catalog.latches.term.splice(0..0, self.latches);
        catalog.waits.category.splice(0..0, self.categories);
    }
}

impl Adding {
    fn symbols(&mut self, document: &Document<'_>, stem: &'static str, new: &mut New) {
        match stem {
            "rules" => {
                let first = new.rules.len();
                let places = self.entries(document, "rules", &self.catalog.rules.rule.clone(), &mut new.rules);
                let added = new.rules.iter().skip(first).zip(places);
                self.rules.extend(added.map(|(rule, index)| site_rule(document, rule, index)));
            }
            "areas" => {
                self.entries(document, "areas", &[], &mut new.areas);
            }
            "spinlocks" => self.terms(document, &self.catalog.spinlocks.clone(), &mut new.spinlocks),
            "latches" => self.terms(document, &self.catalog.latches.clone(), &mut new.latches),
            "waits" => self.categories(document, new),
            _ => self.plumbing(document),
        }
    }

    fn terms(&mut self, document: &Document<'_>, known: &Glossary, new: &mut Vec<Term>) {
        self.entries(document, "glossary entries", &known.term, new);
    }

    fn categories(&mut self, document: &Document<'_>, new: &mut New) {
        let before = new.categories.len();
        let places = self.entries_beside(document, &["version"], "wait categories", &[], &mut new.categories);
        for (category, index) in new.categories.iter().skip(before).zip(places) {
            let same = self.catalog.waits.category.iter().find(|known| known.name == category.name);
            if same.is_some_and(|known| known.idle != category.idle) {
                let message =
                    "the built-in category of this name is idle where this one is not, or the other way round";
                self.faults.push(document.fault_at(&format!("category[{index}].name"), message));
            }
        }
    }

    fn plumbing(&mut self, document: &Document<'_>) {
        let keys = ["events", "primitives", "spinlocks"];
        document.refuse_other_keys(&keys, &mut self.faults);
        let Some(site) = document.read::<SitePlumbing>(&keys, &mut self.faults) else { return };
        let plumbing = &mut self.catalog.plumbing;
        let count = site.events.len() + site.primitives.len() + site.spinlocks.len();
        plumbing.events.extend(site.events);
        plumbing.primitives.extend(site.primitives);
        plumbing.spinlocks.extend(site.spinlocks);
        *self.added.entry("plumbing frames").or_default() += count;
    }

    fn entries<E>(&mut self, document: &Document<'_>, kind: &'static str, known: &[E], new: &mut Vec<E>) -> Vec<usize>
    where
        E: Entry + serde::de::DeserializeOwned,
    {
        self.entries_beside(document, &[], kind, known, new)
    }

    /// Reads the entries of a list; gives the places of those that were added.
    fn entries_beside<E>(
        &mut self,
        document: &Document<'_>,
        beside: &[&str],
        kind: &'static str,
        known: &[E],
        new: &mut Vec<E>,
    ) -> Vec<usize>
    where
        E: Entry + serde::de::DeserializeOwned,
    {
        document.refuse_other_keys(&[&[E::LIST], beside].concat(), &mut self.faults);
        let mut places = Vec::new();
        for (index, entry) in document.entries::<E>(E::LIST, &mut self.faults) {
            let before = self.faults.len();
            let at = |key: &str, message: &str| document.fault_at(&format!("{}[{index}].{key}", E::LIST), message);
            self.faults.extend(entry.faults().into_iter().map(|(key, message)| at(key, message)));
            for (key, name) in entry.names() {
                let has = |others: &[E]| others.iter().flat_map(Entry::names).any(|(_, other)| other == name);
                let place = if has(known) {
                    "is built in already"
                } else if has(new) {
                    "is there already"
                } else {
                    continue;
                };
                self.faults.push(at(key, &format!("`{name}` {place}")));
            }
            if self.faults.len() == before {
                places.push(index);
                new.push(entry);
                *self.added.entry(kind).or_default() += 1;
            }
        }
        places
    }

    fn scenario(&mut self, document: &Document<'_>, folder: &str) {
        let Some(scenario) = scenario::read(document, folder, &self.catalog.sessions, &mut self.faults) else { return };
        Arc::make_mut(&mut self.catalog.sessions).add(scenario);
        *self.added.entry("scenarios").or_default() += 1;
    }

    fn verdict(&mut self, document: &Document<'_>, folder: &str) {
        let Ok(scenario) = self.catalog.sessions.scenario(folder) else {
            self.faults.push(document.fault_at("", format!("there is no scenario `{folder}` without faults")));
            return;
        };
        let question = scenario.question;
        if self.built_in.iter().any(|name| name == folder) {
            self.faults.push(document.fault_at("", "a site changes no built-in scenario"));
            return;
        }
        let read = verdict::read(document, question, &mut self.faults);
        if read.is_some_and(|verdict| self.catalog.site_verdicts.insert(folder.to_owned(), verdict).is_some()) {
            self.faults.push(document.fault_at("", format!("scenario `{folder}` has its thresholds already")));
        }
    }
}

fn site_rule(document: &Document<'_>, rule: &Rule, index: usize) -> SiteRule {
    let places = |key: &str, count: usize| {
        (0..count).map(|n| document.fault_at(&format!("rule[{index}].{key}[{n}]"), "")).collect()
    };
    SiteRule {
        id: rule.id.clone(),
        place: document.fault_at(&format!("rule[{index}].id"), ""),
        must_match: places("must_match", rule.must_match.len()),
        must_not_match: places("must_not_match", rule.must_not_match.len()),
    }
}
