//! Owns saved rows as files on the command line: read, joined to the evidence, and how much time lies between them.

use crate::cli::args::AnalyzeArguments;
use crate::cli::exit::{Exit, Failure};
use crate::model::{Evidence, KnownTable, Problem, Severity, Snapshot, Table};
use crate::parse::rows;
use crate::store::bundle;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Most bytes of a file of saved rows.
const MAX_BYTES: u64 = 64 << 20;

/// Saved rows of before and after.
#[derive(Default)]
pub(super) struct SavedRows {
    before: BTreeMap<String, Table>,
    after: BTreeMap<String, Table>,
    problems: Vec<Problem>,
    first_failure: Option<Failure>,
}

/// Reads the files of `--before` and `--after`; a file that cannot be read is a problem.
pub(super) fn read(arguments: &AnalyzeArguments, known: &[KnownTable]) -> Result<SavedRows, Failure> {
    if arguments.before.is_empty() != arguments.after.is_empty() {
        let (given, missing) =
            if arguments.after.is_empty() { ("--before", "--after") } else { ("--after", "--before") };
        return Err(Failure::usage(format!("{given} came without {missing}: a difference needs both"))
            .with_hint("the counters of views are totals since the server started; save them twice, some time apart"));
    }
    let mut saved = SavedRows::default();
    let before = saved.read_all(&arguments.before, "--before", known);
    let after = saved.read_all(&arguments.after, "--after", known);
    (saved.before, saved.after) = (before, after);
    Ok(saved)
}

impl SavedRows {
    /// Whether no row was read.
    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Why the first file that could not be read could not.
    pub(super) fn take_failure(&mut self) -> Option<Failure> {
        self.first_failure.take()
    }

    fn read_all(&mut self, paths: &[PathBuf], option: &str, known: &[KnownTable]) -> BTreeMap<String, Table> {
        let mut tables = BTreeMap::new();
        for path in paths {
            match read_file(path, known) {
                Ok(read) => {
                    let name = path.display();
                    self.problems.extend(
                        read.problems
                            .into_iter()
                            .map(|problem| Problem { message: format!("{name}: {}", problem.message), ..problem }),
                    );
                    for (table, rows) in read.tables {
                        match tables.entry(table) {
                            Entry::Vacant(vacant) => {
                                vacant.insert(rows);
                            }
                            Entry::Occupied(there) => {
                                let table = there.key();
                                let message =
                                    format!("{name}: {table} was in an earlier file of {option}, which stands");
                                self.problems.push(Problem::new("table_twice", Severity::Partial, message));
                            }
                        }
                    }
                }
                Err(failure) => {
                    let message = format!("{:#}", failure.error);
                    self.problems.push(Problem::new("input_unreadable", Severity::Partial, message));
                    self.first_failure.get_or_insert(failure);
                }
            }
        }
        tables
    }

    /// Completes the evidence by these rows; tables that it has stay.
    pub(super) fn complete(mut self, evidence: &mut Evidence) {
        evidence.problems.append(&mut self.problems);
        if self.is_empty() {
            return;
        }
        if rows::number_files(&mut self.before, &mut self.after) {
            evidence.problems.push(Problem::new(
                "file_ids_made_up",
                Severity::Info,
                "files came without ids: they are told apart by the names of database and file",
            ));
        }
        if evidence.sessions.is_empty() && evidence.before.is_none() {
            evidence.problems.push(Problem::new(
                "counters_only",
                Severity::Info,
                "saved rows were given, and no call stacks beside them",
            ));
        }
        let given: BTreeSet<String> = self.before.keys().chain(self.after.keys()).cloned().collect();
        let mut there_already = complete(&mut evidence.before, self.before);
        there_already.append(&mut complete(&mut evidence.after, self.after));
        if !there_already.is_empty() {
            let names: Vec<String> = there_already.into_iter().collect();
            let message = format!("{}: the bundle has its own rows, and they stand", names.join(", "));
            evidence.problems.push(Problem::new("table_twice", Severity::Info, message));
        }
        let sides = [(&evidence.before, &evidence.after, "--before"), (&evidence.after, &evidence.before, "--after")];
        let problems: Vec<Problem> = sides.into_iter().filter_map(|sides| one_sided(&given, sides)).collect();
        evidence.problems.extend(problems);
    }
}

/// The given tables that only one side has.
fn one_sided(given: &BTreeSet<String>, sides: (&Option<Snapshot>, &Option<Snapshot>, &str)) -> Option<Problem> {
    let (here, there, option) = sides;
    let has = |side: &Option<Snapshot>, name: &str| side.as_ref().is_some_and(|side| side.tables.contains_key(name));
    let alone = given.iter().filter(|name| has(here, name) && !has(there, name));
    let names: Vec<&str> = alone.map(String::as_str).collect();
    (!names.is_empty()).then(|| {
        let message = format!("{} came in {option} only: a difference needs both", names.join(", "));
        Problem::new("one_sided", Severity::Warning, message)
    })
}

/// Adds tables to a snapshot; gives the names of those that were there.
fn complete(snapshot: &mut Option<Snapshot>, tables: BTreeMap<String, Table>) -> BTreeSet<String> {
    let snapshot = snapshot.get_or_insert_default();
    let mut there_already = BTreeSet::new();
    for (name, table) in tables {
        match snapshot.tables.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(table);
            }
            Entry::Occupied(occupied) => {
                there_already.insert(occupied.key().clone());
            }
        }
    }
    there_already
}

/// Milliseconds between two snapshots by the server's own clocks: `ms_ticks`, else `sample_ms` of files, which is an int
/// on older builds and wraps, so it counts only where both are positive and it grew.
pub(super) fn elapsed_ms(evidence: &Evidence) -> Option<u64> {
    let (before, after) = (evidence.before.as_ref()?, evidence.after.as_ref()?);
    let growth = |view: &str, column: &str| {
        let of = |snapshot: &Snapshot| snapshot.tables.get(view)?.integer(0, column).filter(|ticks| *ticks > 0);
        let elapsed = of(after)?.checked_sub(of(before)?)?;
        u64::try_from(elapsed).ok().filter(|elapsed| *elapsed > 0)
    };
    growth("dm_os_sys_info", "ms_ticks").or_else(|| growth("dm_io_virtual_file_stats", "sample_ms"))
}

fn read_file(path: &Path, known: &[KnownTable]) -> Result<rows::Rows, Failure> {
    let name = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::new(Exit::Unreadable, anyhow::Error::new(error).context(format!("could not read {name}")))
    };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    let refused = |what: String| Failure::new(Exit::Unreadable, anyhow::anyhow!("{name} {what}"));
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refused(format!("is larger than {} MB, the most that is read of saved rows", MAX_BYTES >> 20)));
    }
    if bundle::is_bundle(&bytes) {
        return Err(refused("is an archive, not CSV or JSON".to_owned())
            .with_hint("a bundle is given as a FILE of its own; a workbook is saved as CSV first"));
    }
    rows::read(&bytes, known).map_err(|error| refused(error.to_string()))
}
