"""The figures of one capture, computed a second time from its bundle by code that shares nothing with the collector.

usage: recompute.py BUNDLE.zip

Reads the raw members (targets as received, both snapshots, the statements sent), computes growth of counters, events,
counts of slots and shares, prints them as JSON, and compares them with report.json in the bundle: counts to the digit,
shares to 1e-9. Exits 0 where all agree, 1 where something differs (each difference is in the JSON), 2 where the
bundle cannot be read. Standard library only; written from the documented meaning of the views and targets.
"""

import hashlib
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

TOLERANCE = 1e-9

# Waits of tasks that have nothing to do.
IDLE = {
    "BROKER_EVENTHANDLER", "BROKER_RECEIVE_WAITFOR", "BROKER_TASK_STOP", "BROKER_TO_FLUSH", "BROKER_TRANSMITTER",
    "CHECKPOINT_QUEUE", "CLR_AUTO_EVENT", "CLR_MANUAL_EVENT", "CLR_SEMAPHORE", "DBMIRROR_DBM_EVENT",
    "DBMIRROR_EVENTS_QUEUE", "DBMIRROR_WORKER_QUEUE", "DIRTY_PAGE_POLL", "DISPATCHER_QUEUE_SEMAPHORE",
    "FT_IFTSHC_MUTEX", "FT_IFTS_SCHEDULER_IDLE_WAIT", "HADR_CLUSAPI_CALL", "HADR_FILESTREAM_IOMGR_IOCOMPLETION",
    "HADR_LOGCAPTURE_WAIT", "HADR_NOTIFICATION_DEQUEUE", "HADR_TIMER_TASK", "HADR_WORK_QUEUE", "LAZYWRITER_SLEEP",
    "LOGMGR_QUEUE", "ONDEMAND_TASK_QUEUE", "PWAIT_ALL_COMPONENTS_INITIALIZED", "QDS_ASYNC_QUEUE",
    "QDS_CLEANUP_STALE_QUERIES_TASK_MAIN_LOOP_SLEEP", "QDS_PERSIST_TASK_MAIN_LOOP_SLEEP", "QDS_SHUTDOWN_QUEUE",
    "REQUEST_FOR_DEADLOCK_SEARCH", "RESOURCE_QUEUE", "SERVER_IDLE_CHECK", "SLEEP_BPOOL_FLUSH", "SLEEP_DBSTARTUP",
    "SLEEP_DCOMSTARTUP", "SLEEP_MASTERDBREADY", "SLEEP_MASTERMDREADY", "SLEEP_MASTERUPGRADED", "SLEEP_MSDBSTARTUP",
    "SLEEP_SYSTEMTASK", "SLEEP_TASK", "SLEEP_TEMPDBSTARTUP", "SNI_HTTP_ACCEPT", "SOS_WORK_DISPATCHER",
    "SP_SERVER_DIAGNOSTICS_SLEEP", "SQLTRACE_BUFFER_FLUSH", "SQLTRACE_INCREMENTAL_FLUSH_SLEEP",
    "SQLTRACE_WAIT_ENTRIES", "WAITFOR", "WAITFOR_TASKSHUTDOWN", "WAIT_FOR_RESULTS", "WAIT_XTP_CKPT_CLOSE",
    "WAIT_XTP_HOST_WAIT", "WAIT_XTP_OFFLINE_CKPT_NEW_LOG", "XE_DISPATCHER_JOIN", "XE_DISPATCHER_WAIT",
    "XE_TIMER_EVENT",
}

# The range of cycles that a spin is taken to last.
CYCLES_PER_SPIN = (10, 40)

# Where an event's own frames end: what remains below them tells where the event comes from.
EVENT_FRAMES = re.compile(r"::Publish$|^SOS_Scheduler::UpdateWaitTimeStats$|^SOS_Task::(PostWait|PreWait)$")
# Frames from there on that must have names.
DECISIVE = 8


class Bundle:
    """Members by name, and the few that everything needs."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = self.json("manifest.json")
        self.report = self.json("report.json")
        self.sessions = self.json("sessions.json")
        lines = self.members["statements.jsonl"].decode("utf-8").splitlines()
        self.statements = [json.loads(line) for line in lines if line]

    def json(self, name):
        return json.loads(self.members[name].decode("utf-8"))

    def table(self, when, view):
        """Rows of a view as dictionaries."""
        name = f"snapshots/{when}/{view}.json"
        if name not in self.members:
            return None
        table = self.json(name)
        return [dict(zip(table["columns"], row)) for row in table["rows"]]


class Comparison:
    """What differs."""

    def __init__(self):
        self.differences = []
        self.compared = 0

    def same(self, what, ours, theirs):
        self.compared += 1
        if ours != theirs:
            self.differences.append({"what": what, "recomputed": ours, "reported": theirs})

    def near(self, what, ours, theirs):
        self.compared += 1
        if theirs is None or ours is None or abs(ours - theirs) > TOLERANCE:
            self.differences.append({"what": what, "recomputed": ours, "reported": theirs})


def growth(bundle, view, key, columns):
    """How the rows of a cumulative view grew; None where it was not read twice."""
    before, after = bundle.table("before", view), bundle.table("after", view)
    if before is None or after is None:
        return None
    old = {row[key]: [row[column] for column in columns] for row in before}
    grown = {}
    for row in after:
        values = [row[column] for column in columns]
        # A row that was not there before shows what it has.
        earlier = old.get(row[key], [0] * len(columns))
        # One that went down was cleared: nothing is known of it.
        if any(now < then for now, then in zip(values, earlier)):
            grown[row[key]] = [0] * len(columns)
        elif values != earlier:
            grown[row[key]] = [now - then for now, then in zip(values, earlier)]
    return grown


def waits(bundle):
    columns = ["waiting_tasks_count", "wait_time_ms", "signal_wait_time_ms"]
    grown = growth(bundle, "dm_os_wait_stats", "wait_type", columns)
    if grown is None:
        return {}
    working = sum(wait_ms for name, (_, wait_ms, _) in grown.items() if name not in IDLE)
    rows = {}
    for name, (tasks, wait_ms, signal_ms) in grown.items():
        share = wait_ms / working if working and name not in IDLE else 0.0
        rows[name] = {
            "waiting_tasks": tasks, "wait_ms": wait_ms, "resource_ms": max(wait_ms - signal_ms, 0),
            "signal_ms": signal_ms, "share": share,
        }
    return rows


def latches(bundle):
    grown = growth(bundle, "dm_os_latch_stats", "latch_class", ["waiting_requests_count", "wait_time_ms"])
    if grown is None:
        return {}
    # The waits of latches of pages are other wait types, so their class takes no part.
    counts = lambda name: name.upper() != "BUFFER"
    total = sum(wait_ms for name, (_, wait_ms) in grown.items() if counts(name))
    return {
        name: {"requests": requests, "wait_ms": wait_ms, "share": wait_ms / total if total and counts(name) else 0.0}
        for name, (requests, wait_ms) in grown.items()
    }


def spinlocks(bundle):
    grown = growth(bundle, "dm_os_spinlock_stats", "name", ["collisions", "spins", "sleep_time", "backoffs"])
    if grown is None:
        return {}
    ticks = [bundle.table(when, "dm_os_sys_info")[0]["cpu_ticks"] for when in ("before", "after")]
    online = [row for row in bundle.table("after", "dm_os_schedulers") if row["status"] == "VISIBLE ONLINE"]
    cycles = (ticks[1] - ticks[0]) * len(online)
    seconds = bundle.manifest["window"]["elapsed_ms"] / 1000
    rows = {}
    for name, (collisions, spins, sleep_time, backoffs) in grown.items():
        if collisions == 0:
            continue
        low, high = (min(spins * each / cycles, 1.0) for each in CYCLES_PER_SPIN)
        rows[name] = {
            "collisions": collisions, "spins": spins, "spins_per_collision": spins // collisions,
            "sleep_time_ms": sleep_time, "backoffs": backoffs,
            "spins_per_second_per_cpu": spins / seconds / len(online),
            "spin_cpu_share": {"low": low, "high": high},
        }
    return rows


# Columns of sys.dm_io_virtual_file_stats, and how the report names their growth.
FILE_COUNTERS = {
    "num_of_reads": "reads", "num_of_bytes_read": "read_bytes", "io_stall_read_ms": "read_stall_ms",
    "num_of_writes": "writes", "num_of_bytes_written": "write_bytes", "io_stall_write_ms": "write_stall_ms",
}


def files(bundle):
    """Growth of files that did anything, by database and file; a mean over nothing is None."""
    before, after = (bundle.table(when, "dm_io_virtual_file_stats") for when in ("before", "after"))
    if before is None or after is None:
        return {}
    place = lambda row: (row["database_id"], row["file_id"])
    old = {place(row): row for row in before}
    rows = {}
    for row in after:
        earlier = old.get(place(row), dict.fromkeys(FILE_COUNTERS, 0))
        grown = {name: row[column] - earlier[column] for column, name in FILE_COUNTERS.items()}
        if not grown["reads"] and not grown["writes"]:
            continue
        mean = lambda total, operations: total / operations if operations else None
        rows[place(row)] = {
            **grown,
            "read_latency_ms": mean(grown["read_stall_ms"], grown["reads"]),
            "write_latency_ms": mean(grown["write_stall_ms"], grown["writes"]),
            "bytes_per_read": mean(grown["read_bytes"], grown["reads"]),
            "bytes_per_write": mean(grown["write_bytes"], grown["writes"]),
        }
    return rows


def compare_files(comparison, ours, reported):
    theirs = {(row["database_id"], row["file_id"]): row for row in reported}
    comparison.same("files: rows", sorted(ours), sorted(theirs))
    for place in sorted(ours.keys() & theirs.keys()):
        for column, value in ours[place].items():
            what = f"files: {place[0]}.{place[1]}.{column}"
            if isinstance(value, float):
                scale = max(abs(value), 1.0)
                reported_value = theirs[place][column]
                comparison.near(what, value / scale, None if reported_value is None else reported_value / scale)
            else:
                comparison.same(what, value, theirs[place][column])


def compare_queries(comparison, bundle, by_session):
    """Events by statement: the slots of the sessions that bucket by query hash, summed."""
    events = {}
    for number, target in by_session.items():
        if bundle.sessions["sessions"][number].get("bucket") == "sqlserver.query_hash":
            for count, value in target["slots"]:
                name = f"0x{int(value):016X}"
                events[name] = events.get(name, 0) + count
    shown = {row["query_hash"].upper().replace("0X", "0x"): row["events"] for row in bundle.report.get("queries", [])}
    comparison.same("queries: events by statement", events, shown)


def frames(value):
    return [line.strip() for line in value.splitlines() if line.strip()]


def function(frame):
    """The name in `module!name+0xoffset`; None where there is none."""
    _, found, name = frame.partition("!")
    return re.sub(r"\+(0x)?[0-9a-fA-F]+( \[.*)?$", "", name) if found else None


def slots(document):
    """Counts and values of a target's slots, in the order of the document."""
    root = ElementTree.fromstring(document)
    found = []
    for slot in root.iter("Slot"):
        value = slot.find("value")
        text = "".join(value.itertext()) if value is not None else ""
        # Frames that are elements, not lines.
        if value is not None and value.find("frame") is not None:
            text = "\n".join(ElementTree.tostring(frame, "unicode").strip() for frame in value.iter("frame"))
        found.append((int(slot.get("count")), text))
    return found


def family(stack, trusted):
    """`unresolved`, `spinlock_backoff`, or `named` for all others."""
    names = [function(frame) for frame in frames(stack)]
    while names and names[0] and EVENT_FRAMES.search(names[0]):
        names.pop(0)
    if not trusted or not names or None in names[:DECISIVE]:
        return "unresolved"
    return "spinlock_backoff" if any(name and name.startswith(("Spinlock<", "SpinlockBase::")) for name in names) else "named"


def targets(bundle):
    """By number of the session: its last document's slots, and whether its values are call stacks."""
    last = {}
    for number, target in enumerate(bundle.sessions["targets"], start=1):
        last[target["session"]] = slots(bundle.members[f"targets/{number}.xml"])
    sessions = bundle.sessions["sessions"]
    return {
        number: {"slots": found, "stacks": sessions[number].get("bucket") in (None, "callstack", "callstack_rva")}
        for number, found in sorted(last.items())
    }


def stacks(by_session):
    """Events by session, slot and family of stack."""
    counted = [(number, target["slots"]) for number, target in by_session.items() if target["stacks"]]
    texts = [value for _, found in counted for _, value in found]
    trusted = not any(re.match(r"Ordinal\d+$", function(frame) or "") for text in texts for frame in frames(text))
    total, families, slot_counts = 0, {"unresolved": 0, "spinlock_backoff": 0, "named": 0}, {}
    for number, found in counted:
        for place, (count, value) in enumerate(found):
            total += count
            families[family(value, trusted)] += count
            slot_counts[f"{number}:{place}"] = count
    shares = {name: events / total if total else 0.0 for name, events in families.items()}
    return {"total_events": total, "events": families, "shares": shares, "slots": slot_counts}


def compare_rows(comparison, view, key, ours, reported):
    theirs = {row[key]: row for row in reported}
    comparison.same(f"{view}: rows", sorted(ours), sorted(theirs))
    for name in sorted(ours.keys() & theirs.keys()):
        for column, value in ours[name].items():
            what = f"{view}: {name}.{column}"
            if isinstance(value, dict):
                for part, number in value.items():
                    comparison.near(f"{what}.{part}", number, (theirs[name][column] or {}).get(part))
            elif isinstance(value, float):
                scale = max(abs(value), 1.0)
                reported_value = theirs[name][column]
                comparison.near(what, value / scale, None if reported_value is None else reported_value / scale)
            else:
                comparison.same(what, value, theirs[name][column])


def compare_stacks(comparison, ours, report):
    reported = report["stacks"]
    comparison.same("stacks: total_events", ours["total_events"], reported["total_events"])
    comparison.same("stacks: unresolved_events", ours["events"]["unresolved"], reported["unresolved_events"])
    named = [slot for item in reported["items"] for slot in item["slots"]]
    comparison.same("stacks: every slot is in one item", sorted(ours["slots"]), sorted(named))
    for item in reported["items"]:
        events = sum(ours["slots"].get(slot, 0) for slot in item["slots"])
        comparison.same(f"stacks: {item['id']}.events", events, item["events"])
    by_family = {"unresolved": [0, 0.0], "spinlock_backoff": [0, 0.0], "named": [0, 0.0]}
    for row in reported["classes"]:
        found = by_family[row["class"] if row["class"] in by_family else "named"]
        found[0] += row["events"]
        found[1] += row["share"]
    for name, (events, share) in by_family.items():
        comparison.same(f"classes: events of {name}", ours["events"][name], events)
        comparison.near(f"classes: share of {name}", ours["shares"][name], share)


def compare_verdict_shares(comparison, bundle, ours, by_session):
    """Intervals of the verdict, where nothing widens them: one session, nothing lost, many events."""
    shown = bundle.report["capture"]["sessions"]
    lost = any(session["dropped_events"] or session["dropped_buffers"] for session in shown)
    lost = lost or any(session["at_capacity"] or session["target_cut"] for session in shown)
    if len(by_session) != 1 or lost or ours["total_events"] < 1000:
        return
    shares, unresolved = bundle.report["verdict"]["shares"], ours["shares"]["unresolved"]
    spinning = ours["shares"]["spinlock_backoff"]
    comparison.near("verdict: spinlock_backoff.low", spinning, shares["spinlock_backoff"]["low"])
    comparison.near("verdict: spinlock_backoff.high", spinning + unresolved, shares["spinlock_backoff"]["high"])
    others = sum(row["low"] for name, row in shares.items() if name not in ("unresolved", "spinlock_backoff"))
    comparison.near("verdict: all other classes.low", ours["shares"]["named"], others)


def compare_statements(comparison, bundle):
    """The statements sent undo what they did, and filter what the bundle says."""
    sent = [statement for statement in bundle.statements if statement["error"] is None]
    numbers = [statement["n"] for statement in bundle.statements]
    comparison.same("statements: numbers", list(range(1, len(numbers) + 1)), numbers)
    count = lambda pattern: sum(len(re.findall(pattern, statement["sql"])) for statement in sent)
    comparison.same("statements: sessions created and dropped", count(r"\bCREATE EVENT SESSION\b"), count(r"\bDROP EVENT SESSION\b"))
    comparison.same("statements: sessions started and stopped", count(r"\bSTATE\s*=\s*START\b"), count(r"\bSTATE\s*=\s*STOP\b"))
    created = " ".join(statement["sql"] for statement in sent if "CREATE EVENT SESSION" in statement["sql"])
    filtered = {int(key) for key in re.findall(r"\bwait_type\s*=\s*(\d+)", created)}
    stated = {key for session in bundle.sessions["sessions"] for key in session.get("filter_keys", [])
              if (session["context"]["event"] or "").startswith("sqlos.wait_info")}
    comparison.same("statements: filtered wait types", sorted(filtered), sorted(stated))
    for name, digest in bundle.manifest["sha256"].items():
        comparison.same(f"manifest: sha256 of {name}", hashlib.sha256(bundle.members[name]).hexdigest(), digest)


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        bundle = Bundle(sys.argv[1])
        by_session = targets(bundle)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        print(f"{sys.argv[1]} cannot be read: {error!r}", file=sys.stderr)
        return 2
    comparison = Comparison()
    of_files = files(bundle)
    computed = {
        "waits": waits(bundle), "latches": latches(bundle), "spinlocks": spinlocks(bundle),
        "stacks": stacks(by_session),
    }
    compare_rows(comparison, "waits", "wait_type", computed["waits"], bundle.report["waits"])
    compare_rows(comparison, "latches", "latch_class", computed["latches"], bundle.report["latches"])
    compare_rows(comparison, "spinlocks", "name", computed["spinlocks"], bundle.report["spinlocks"])
    compare_files(comparison, of_files, bundle.report["files"])
    compare_queries(comparison, bundle, by_session)
    compare_stacks(comparison, computed["stacks"], bundle.report)
    compare_verdict_shares(comparison, bundle, computed["stacks"], by_session)
    for number, target in by_session.items():
        shown = bundle.report["capture"]["sessions"][number]
        comparison.same(f"sessions: {number}.slots_used", len(target["slots"]), shown["slots_used"])
    compare_statements(comparison, bundle)
    result = {"compared": comparison.compared, "differences": comparison.differences, **computed}
    json.dump(result, sys.stdout, indent=1)
    print()
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
