//! A site's own catalogue: the worked example of the documentation, and everything that can be wrong with one.

use crate::capture::Lab;
use crate::cli::xestack;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use xestack::analyze;
use xestack::catalog::Catalog;
use xestack::catalog::site::WithSite;
use xestack::model::{ServerVersion, StackClass, Tool};
use xestack::statements::{DryRun, dry_run};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/cmemthread")
}

fn text(file: &str) -> String {
    fs::read_to_string(example().join(file)).unwrap()
}

static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());

fn with(files: &[(&str, &str)]) -> WithSite {
    BUILT_IN.clone().with_site(files)
}

/// The faults of one file, each with its line.
fn faults(path: &str, text: &str) -> Vec<String> {
    with(&[(path, text)]).faults.iter().map(ToString::to_string).collect()
}

fn example_catalog() -> Catalog {
    let names =
        ["sessions/cmemthread/scenario.toml", "symbols/rules.toml", "symbols/spinlocks.toml", "symbols/waits.toml"];
    let files: Vec<(&str, String)> = names.into_iter().map(|name| (name, text(name))).collect();
    let WithSite { catalog, faults, .. } = BUILT_IN.clone().with_site(&files);
    assert!(faults.is_empty(), "{faults:?}");
    catalog
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run(arguments: &[&str], folder: &Path) -> Ran {
    let output = xestack(arguments).arg(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn check(folder: &Path) -> Ran {
    run(&["catalog", "check"], folder)
}

/// A site's folder with these files.
fn site(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn the_documented_example_is_right() {
    let ran = check(&example());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert_eq!(ran.out, "4 files, no fault: glossary entries 1, rules 2, scenarios 1, wait categories 1\n");
}

#[test]
fn its_dry_run_creates_a_session_for_its_wait_and_nothing_else_of_its_own() {
    let ran = run(&["sql", "--scenario", "cmemthread", "--server-version", "2019", "--catalog"], &example());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("wait_type = 0 /* wait_types: CMEMTHREAD, looked up at run time */ AND opcode = 1"));
    // Apart from the names, a site's scenario sends what a built-in one of the same shape does.
    let catalog = example_catalog();
    for version in [ServerVersion::V2012, ServerVersion::V2019, ServerVersion::V2022, ServerVersion::AzureDb] {
        let statements = |scenario: &str| -> Vec<String> {
            let statements = dry_run(&catalog.sessions, &DryRun::new(scenario, version)).unwrap();
            statements.into_iter().map(|statement| statement.sql).collect()
        };
        let neutral = |sql: &str, scenario: &str, wait: &str| sql.replace(scenario, "S").replace(wait, "W");
        let own: Vec<_> = statements("cmemthread").iter().map(|sql| neutral(sql, "cmemthread", "CMEMTHREAD")).collect();
        let built_in: Vec<_> =
            statements("sos-yield").iter().map(|sql| neutral(sql, "sos-yield", "SOS_SCHEDULER_YIELD")).collect();
        let further: Vec<_> = own.iter().filter(|sql| !built_in.contains(sql)).collect();
        // It reads one counter table more.
        assert!(further.iter().all(|sql| sql.contains("dm_os_performance_counters")), "{further:#?}");
    }
}

#[tokio::test]
async fn it_captures_on_the_simulated_server_and_leaves_nothing() {
    let catalog = example_catalog();
    let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.workload = "cachestore".to_owned()).await;
    lab.surroundings.sessions = Arc::clone(&catalog.sessions);
    lab.options.scenario = "cmemthread".to_owned();
    let outcome = lab.capture().await.unwrap();
    assert!(outcome.left_behind.is_empty());
    assert_eq!(outcome.evidence.scenario.as_deref(), Some("cmemthread"));
    let session = &outcome.evidence.sessions[0];
    assert_eq!(session.context.wait_type.as_deref(), Some("CMEMTHREAD"));
    assert!(session.target.is_some());
    let tool = Tool { name: "xestack".into(), version: "test".into() };
    let report = analyze::analyze(&outcome.evidence, &catalog, tool);
    assert!(report.waits.iter().any(|row| row.wait_type == "CMEMTHREAD" && row.waiting_tasks > 0));
    assert_eq!(report.capture.scenario.as_deref(), Some("cmemthread"));
    let rules: Vec<_> = report.stacks.items.iter().map(|stack| stack.rule.as_deref()).collect();
    assert_eq!(rules, [Some("memory-object-of-statements")]);
    assert_eq!(report.stacks.items[0].area.as_deref(), Some("query execution"));
}

#[test]
fn its_rules_and_categories_come_before_the_built_in_ones() {
    let catalog = example_catalog();
    assert_eq!(catalog.waits.of("CMEMTHREAD").unwrap().name, "memory object");
    assert_eq!(catalog.spinlocks.of("SOS_BLOCKALLOCPARTIALLIST").unwrap().basis, "name");
    let ids: Vec<&str> = catalog.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids[..2], ["memory-object-of-statements", "memory-object-of-tokens"]);
    assert_eq!(catalog.rules.iter().next().unwrap().class, StackClass::Memory);
    assert!(ids.len() > 2);
}

#[test]
fn faults_of_a_rules_file_have_their_lines() {
    let path = "ours/symbols/rules.toml";
    assert_eq!(
        faults(path, "[[rule]]\nid = \"a\"\nclass = \"sleepy\"\nwhy = \"w\"\nlook = \"nowhere\"\nframes = [\n  \"A\",\n  \"\",\n]\nmust_match = [[\"A\"]]\nmust_not_match = [[\"B\"]]\nextra = 1\n\n[[rule]]\nid = \"b\"\n\n[[rules]]\n")
            .iter()
            .map(|fault| fault.split(", expected").next().unwrap().to_owned())
            .collect::<Vec<_>>(),
        [
            "ours/symbols/rules.toml:3: rule[0].class: unknown variant `sleepy`",
            "ours/symbols/rules.toml:5: rule[0].look: unknown variant `nowhere`",
            "ours/symbols/rules.toml:6: rule[0].frames: a pattern cannot be empty",
            "ours/symbols/rules.toml:12: rule[0].extra: unknown field `extra`",
            "ours/symbols/rules.toml:14: rule[1]: missing field `class`",
            "ours/symbols/rules.toml:17: unknown key `rules`",
        ]
    );
    let rule = |id: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\nclass = \"memory\"\nwhy = \"\"\nlook = \"top\"\nframes = []\nmust_match = []\nmust_not_match = []\n"
        )
    };
    assert_eq!(
        faults(path, &format!("{}{}", rule("latch-wait"), rule("x"))),
        [
            "ours/symbols/rules.toml:2: rule[0].id: a rule needs an id and a why",
            "ours/symbols/rules.toml:2: rule[0].id: `latch-wait` is built in already",
            "ours/symbols/rules.toml:6: rule[0].frames: a rule needs at least one frame",
            "ours/symbols/rules.toml:7: rule[0].must_match: a rule needs stacks that it must and must not match",
            "ours/symbols/rules.toml:10: rule[1].id: a rule needs an id and a why",
            "ours/symbols/rules.toml:14: rule[1].frames: a rule needs at least one frame",
            "ours/symbols/rules.toml:15: rule[1].must_match: a rule needs stacks that it must and must not match",
        ]
    );
    let syntax = faults(path, "[[rule]]\nid = \"a\nclass = \n");
    assert!(syntax[0].starts_with("ours/symbols/rules.toml:2: "), "{syntax:?}");
    assert!(syntax.iter().any(|fault| fault.starts_with("ours/symbols/rules.toml:3: ")), "{syntax:?}");
}

#[test]
fn faults_of_the_glossaries_have_their_lines() {
    let term = "[[term]]\nnames = [\"LOCK_HASH\", \"MINE\"]\nmeaning = \"\"\nbasis = \"hearsay\"\n\n[[term]]\nnames = [\"A\", \"A\"]\nmeaning = \"m\"\nbasis = \"name\"\n\n[[term]]\nnames = [\"A\"]\nmeaning = \"m\"\nbasis = \"name\"\n";
    assert_eq!(
        faults("symbols/spinlocks.toml", term),
        [
            "symbols/spinlocks.toml:2: term[0].names: `LOCK_HASH` is built in already",
            "symbols/spinlocks.toml:3: term[0].meaning: a term needs a meaning",
            "symbols/spinlocks.toml:4: term[0].basis: must be documented, published or name",
            "symbols/spinlocks.toml:12: term[2].names: `A` is there already",
        ]
    );
    assert_eq!(
        faults(
            "symbols/waits.toml",
            "[[category]]\nname = \"idle\"\nwait_types = [\"MINE\"]\n\n[[category]]\nname = \"\"\nwait_types = []\n"
        ),
        [
            "symbols/waits.toml:2: category[0].name: the built-in category of this name is idle where this one is not, or the other way round",
            "symbols/waits.toml:6: category[1].name: a category needs a name",
            "symbols/waits.toml:7: category[1].wait_types: a category needs at least one wait type",
        ]
    );
    assert_eq!(
        faults("symbols/areas.toml", "\n[[area]]\nname = \"x\"\nframes = []\n"),
        ["symbols/areas.toml:4: area[0].frames: an area needs at least one frame"]
    );
    assert_eq!(
        faults("symbols/plumbing.toml", "events = [\"\"]\nprimitive = [\"A\"]\n"),
        [
            "symbols/plumbing.toml:1: events: a pattern cannot be empty",
            "symbols/plumbing.toml:2: unknown key `primitive`, expected events, primitives, spinlocks",
        ]
    );
    assert_eq!(faults("symbols/notes.toml", ""), ["symbols/notes.toml: is no catalogue file"]);
}

/// What a scenario file says when one piece of the example's is another.
fn changed(from: &str, to: &str) -> Vec<String> {
    let scenario = text("sessions/cmemthread/scenario.toml");
    assert!(scenario.contains(from), "{from}");
    faults("sessions/cmemthread/scenario.toml", &scenario.replacen(from, to, 1))
        .into_iter()
        .map(|fault| fault.strip_prefix("sessions/cmemthread/scenario.toml:").unwrap().to_owned())
        .collect()
}

#[test]
fn faults_of_a_scenario_have_their_lines() {
    let event = "event = \"sqlos.wait_info\"";
    let mut wrong = Vec::new();
    for (from, to, line, needle) in [
        ("name = \"cmemthread\"", "name = \"Cmem\"", 2, "name: must be 1 to 24 lower-case letters"),
        ("name = \"cmemthread\"", "name = \"other\"", 2, "name: must be the name of its folder, `cmemthread`"),
        ("question = \"waits\"", "question = \"why\"", 4, "question: unknown variant `why`"),
        ("\"2008R2\"", "\"2018\"", 7, "minimum_version: "),
        ("minimum_version = \"2008R2\"\n", "", 1, "missing field `minimum_version`"),
        ("title = \"", "title = \"\\u0007", 3, "title: must be one line of text"),
        (event, "event = \"wait_info\"", 12, "session[0].event: must be `package.event`"),
        (event, "event = \"a.b (x) ADD EVENT c\"", 12, "session[0].event: must be `package.event`"),
        ("field = \"wait_type\"", "field = \"a = 1 OR b\"", 13, "session[0].field: must be a name"),
        ("map = \"wait_types\"", "map = \"%'; DROP\"", 14, "session[0].map: must be a name"),
        ("\"CMEMTHREAD\"]", "\"A\", \"B*/ GO\"]", 15, "session[0].values[1]: `B*/ GO` is no map value"),
        ("\"CMEMTHREAD\"]", "\"A\\nGO\\n\"]", 15, "session[0].values[0]: `A\\nGO\\n` is no map value"),
        ("values = [\"CMEMTHREAD\"]", "", 11, "session[0]: needs values, values_from, or a [survey]"),
        (
            "values = [",
            "values_from = \"rights\"\nvalues = [",
            15,
            "session[0].values_from: `rights` is no counter table",
        ),
        ("tests = [\"opcode = 1\"]", "tests = [\"1 = 1 OR opcode = 1\"]", 17, "is not `FIELD = INTEGER`"),
        ("tests = [", "bucket = \"a b\"\ntests = [", 17, "session[0].bucket: must be callstack"),
        ("tests = [", "slots = 0\ntests = [", 17, "session[0].slots: must be between 1 and 16384"),
        ("tests = [", "slotz = 1\ntests = [", 17, "session[0].slotz: unknown field `slotz`"),
        ("tests = [", "name = \"queries\"\ntests = [", 17, "session[0].name: `queries` is kept for"),
        ("tests = [", "name = \"a-name-of-many-letters\"\ntests = [", 17, "has more than 24 characters"),
        ("\"dm_os_schedulers\",", "\"drop_session\",", 22, "counters.snapshot[1]: `drop_session` is no counter table"),
        ("sample = [", "smaple = [", 19, "missing field `sample`"),
        (
            "volume = \"volume_waits\"",
            "volume = \"take_lock\"",
            29,
            "counters.volume: `take_lock` is none of: volume_waits",
        ),
        ("[auto]", "[limits]\nmax_cpu_share = 1.5\n\n[auto]", 32, "limits.max_cpu_share: must be between 0 and 1"),
        ("[auto]", "[auto]\nsql_cpu_share = 70", 32, "auto.sql_cpu_share: must be between 0 and 1"),
        ("[auto]", "[sql]\nx = 1\n\n[auto]", 31, "unknown key `sql`"),
    ] {
        let found = changed(from, to);
        let is_it = |fault: &String| fault.starts_with(&format!("{line}: ")) && fault.contains(needle);
        if !found.iter().any(is_it) {
            wrong.push((to, line, needle, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_site_replaces_no_scenario_and_no_session() {
    let of = |name: &str| {
        text("sessions/cmemthread/scenario.toml").replace("name = \"cmemthread\"", &format!("name = \"{name}\""))
    };
    assert_eq!(
        faults("sessions/sos-yield/scenario.toml", &of("sos-yield"))[0],
        "sessions/sos-yield/scenario.toml:2: name: `sos-yield` is there already; a site's scenario replaces no other"
    );
    for name in ["latch-class", "spinlock-queries"] {
        let found = faults(&format!("sessions/{name}/scenario.toml"), &of(name));
        assert!(
            found.iter().any(|fault| fault.contains(&format!("another event session has the name `{name}`"))),
            "{found:?}"
        );
    }
    let twice = of("twice");
    let both = with(&[("a/sessions/twice/scenario.toml", &twice), ("b/sessions/twice/scenario.toml", &twice)]);
    assert!(both.faults[0].to_string().starts_with("b/sessions/twice/scenario.toml:2: name: `twice` is there already"));
}

#[test]
fn thresholds_of_a_sites_scenario_hold_for_it_alone() {
    let scenario = text("sessions/cmemthread/scenario.toml")
        .replace("name = \"cmemthread\"", "name = \"our-yield\"")
        .replace("\"waits\"", "\"yields\"");
    let verdict = include_str!("../../sessions/sos-yield/verdict.toml");
    let own = verdict.replace("yields = 1000", "yields = 50");
    let files = |verdict: &str| {
        with(&[("sessions/our-yield/verdict.toml", verdict), ("sessions/our-yield/scenario.toml", &scenario)])
    };
    let WithSite { catalog, faults, .. } = files(&own);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(catalog.settled_for(Some("our-yield")).sos_yield.gates.yields, 50);
    assert_eq!(catalog.settled_for(Some("spinlock+our-yield")).sos_yield.gates.yields, 50);
    for others in [None, Some("sos-yield"), Some("nothing")] {
        assert_eq!(catalog.settled_for(others).sos_yield.gates.yields, 1_000);
    }
    let wrong = own
        .replace("cpu_yield_low = 0.90", "cpu_yield_low = 1.90")
        .replace("quantum_ms = 4.0", "quantum_ms = -4.0")
        .replace("cycles_per_spin_high = 40.0", "cycles_per_spin_high = 4.0");
    let line = |needle: &str| wrong.lines().position(|line| line.starts_with(needle)).unwrap() + 1;
    assert_eq!(
        files(&wrong).faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            format!(
                "sessions/our-yield/verdict.toml:{}: shares.cpu_yield_low: must be between 0 and 1",
                line("cpu_yield_low")
            ),
            format!("sessions/our-yield/verdict.toml:{}: gates.quantum_ms: must be above 0", line("quantum_ms")),
            format!(
                "sessions/our-yield/verdict.toml:{}: spins.cycles_per_spin_high: must be at least cycles_per_spin_low",
                line("cycles_per_spin_high")
            ),
        ]
    );
    let alone = with(&[("sessions/mine/verdict.toml", verdict)]);
    assert!(alone.faults[0].to_string().contains("there is no scenario `mine`"), "{:?}", alone.faults);
    let built_in = with(&[("sessions/sos-yield/verdict.toml", verdict)]);
    assert!(built_in.faults[0].to_string().contains("a site changes no built-in scenario"), "{:?}", built_in.faults);
}

#[test]
fn rules_are_tried_on_their_examples_at_the_stack_that_fails() {
    let rules = text("symbols/rules.toml").replace("\"CSecToken::AddGroup\"],\n]\nmust_not_match = [\n  [\"SOS_Task::PostWait\", \"UnfairRecursiveMutexInternal<1>::LongWait\", \"CPmoLock::GetAccessPmo\", \"CMemThread<CMemObj>::Alloc\", \"CCompPlan", "\"CSecTokens::AddGroup\"],\n]\nmust_not_match = [\n  [\"SOS_Task::PostWait\", \"UnfairRecursiveMutexInternal<1>::LongWait\", \"CPmoLock::GetAccessPmo\", \"CMemThread<CMemObj>::Alloc\", \"CSecToken");
    let folder = site(&[("symbols/rules.toml", &rules)]);
    let ran = check(folder.path());
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    let line = |needle: &str| rules.lines().position(|line| line.contains(needle)).unwrap() + 1;
    let path = folder.path().join("symbols/rules.toml").display().to_string();
    for expected in [
        format!(
            "{path}:{}: rule `memory-object-of-tokens` must decide this stack; `memory-area` does",
            line("CSecTokens::")
        ),
        format!(
            "{path}:{}: rule `memory-object-of-tokens` must not decide this stack; it does",
            line("CSecToken::CopyParameters")
        ),
    ] {
        assert!(ran.err.contains(&expected), "{expected}\n{}", ran.err);
    }
    assert!(ran.err.ends_with("xestack: 2 faults\n"), "{}", ran.err);
}

#[test]
fn a_rule_that_takes_a_built_in_example_is_told_as_a_note() {
    let rule = "[[rule]]\nid = \"ours\"\nclass = \"other\"\nwhy = \"w\"\nlook = \"anywhere\"\nframes = [\"LatchBase::Suspend\"]\nmust_match = [[\"LatchBase::Suspend\"]]\nmust_not_match = [[\"B\"]]\n";
    let folder = site(&[("symbols/rules.toml", rule)]);
    let ran = check(folder.path());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("rules.toml:2: an example stack of the built-in rule `latch-wait`"), "{}", ran.err);
}

#[test]
fn only_files_of_known_names_are_read() {
    let scenario = text("sessions/cmemthread/scenario.toml");
    let folder = site(&[
        ("sessions/cmemthread/scenario.toml", &scenario),
        ("sessions/cmemthread/extra.sql", "DROP DATABASE x"),
        ("sessions/common/rights.sql", "DROP DATABASE x"),
        ("symbols/notes.txt", "x"),
        ("README.md", "x"),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(example().join("symbols/rules.toml"), folder.path().join("symbols/rules.toml")).unwrap();
    let ran = check(folder.path());
    assert_eq!((ran.code, ran.out.as_str()), (0, "1 file, no fault: scenarios 1\n"), "{}", ran.err);
    let mut ignored = vec!["extra.sql", "rights.sql", "notes.txt", "README.md"];
    if cfg!(unix) {
        ignored.push("rules.toml");
    }
    for name in ignored {
        assert!(ran.err.contains(&format!("{name}: ignored, no catalogue file")), "{name}: {}", ran.err);
    }
    let large = site(&[("symbols/rules.toml", &"#".repeat((1 << 20) + 1))]);
    assert!(check(large.path()).err.contains("is larger than 1 MB"));
    assert!(check(&folder.path().join("missing")).err.contains("holds no catalogue file"));
}

#[test]
fn a_catalogue_with_faults_stops_every_command_before_it_begins() {
    let folder = site(&[("symbols/rules.toml", "[[rule]]\n"), ("symbols/areas.toml", "x = 1\n")]);
    let commands: [&[&str]; 3] = [
        &["sql", "--scenario", "sos-yield", "--server-version", "2019", "--catalog"],
        &["capture", "-S", "127.0.0.1,1", "-U", "sa", "-P", "x", "--scenario", "sos-yield", "--catalog"],
        &["analyze", "nothing.xml", "--catalog"],
    ];
    for arguments in commands {
        let ran = run(arguments, folder.path());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains("areas.toml:1: ") && ran.err.contains("rules.toml:1: "), "{}", ran.err);
        assert!(ran.err.contains("2 faults in the catalogue of --catalog"), "{}", ran.err);
    }
}

#[test]
fn any_text_is_read_or_refused() {
    use proptest::prelude::*;
    let words = r#"(\[\[(rule|session|term)\]\]|\[(counters|limits)\]|name|id|frames|=|"x"|\["a", ""\]|\n|[0-9]|\{|\}|é|\u{0}|,|\.){0,40}"#;
    for text in [format!("x = {}", "[".repeat(100_000)), "[[rule]]\n".repeat(50_000), "a=1\n".repeat(50_000)] {
        assert!(!faults("symbols/rules.toml", &text).is_empty());
    }
    proptest!(ProptestConfig::with_cases(64), |(text in words)| {
        for path in ["symbols/rules.toml", "symbols/plumbing.toml", "symbols/latches.toml", "sessions/a/scenario.toml"] {
            with(&[(path, &text)]);
        }
    });
}
