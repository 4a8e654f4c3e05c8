//! Owns `xestack catalog`: whether a site's folders are right.

use crate::analyze::examples::{Example, failing_examples};
use crate::catalog::Catalog;
use crate::catalog::site::{Fault, SiteRule, WithSite};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use crate::cli::site;
use std::path::PathBuf;

/// Tells every fault of a site's folders, and rules that do not hold on their own examples.
pub(in crate::cli) fn check(folders: &[PathBuf], catalog: &Catalog, printer: &Printer) -> Result<Exit, Failure> {
    let files = site::read(folders, printer)?;
    let WithSite { catalog, mut faults, rules, added } = catalog.clone().with_site(&files);
    for example in failing_examples(&catalog) {
        match rules.iter().find(|rule| rule.id == example.rule) {
            Some(rule) => faults.extend(fault_of(rule, &example)),
            None => printer.note(&note_of(&rules, &example)),
        }
    }
    faults.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
    for fault in &faults {
        printer.note(&fault.to_string());
    }
    if !faults.is_empty() {
        let count = faults.len();
        return Err(Failure::usage(counted(count, "fault")));
    }
    let added: Vec<String> = added.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    printer.result(&format!("{}, no fault: {}\n", counted(files.len(), "file"), added.join(", ")))?;
    Ok(Exit::Done)
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn fault_of(rule: &SiteRule, example: &Example) -> Option<Fault> {
    let (places, wish) = if example.must_match {
        (&rule.must_match, "must decide this stack")
    } else {
        (&rule.must_not_match, "must not decide this stack")
    };
    let place = places.get(example.index)?.clone();
    let message = format!("rule `{}` {wish}; {}", rule.id, decided(example));
    Some(Fault { message, ..place })
}

fn decided(example: &Example) -> String {
    match &example.decided_by {
        Some(id) if *id == example.rule => "it does".to_owned(),
        Some(id) => format!("`{id}` does"),
        None => "no rule does".to_owned(),
    }
}

/// A built-in rule's example that a rule of the site decides: allowed, but worth knowing.
fn note_of(rules: &[SiteRule], example: &Example) -> String {
    let by = rules.iter().find(|rule| example.decided_by.as_ref() == Some(&rule.id));
    let place = by.map(|rule| Fault { message: String::new(), ..rule.place.clone() }.to_string()).unwrap_or_default();
    format!(
        "note: {place}an example stack of the built-in rule `{}` is no longer decided by it; {}",
        example.rule,
        decided(example)
    )
}
