"""A whole event session through a driver that nobody here wrote, against `xestack simulate --workload lock-hash`.

usage: event_session.py DRIVER PORT PASSWORD plain|tls|strict CERTIFICATE VERSION
DRIVER is one of drivers.py. Exits 0 and prints one line where everything is as it should be; an assertion names what is not.
"""

import re
import sys
import time

import drivers

name, port, password, mode, certificate, version = sys.argv[1:7]
SESSION = "looking on [from outside]"
QUOTED = "[looking on [from outside]]]"
driver = drivers.DRIVERS[name]()
run = driver.run


def expect_error(number, text, sql):
    """By its number where the driver gives one; always by its text."""
    try:
        run(sql)
    except Exception as error:
        found = driver.error_number(error)
        assert found in (None, number), f"{number}: {found}: {error}"
        assert found is not None or name == "mssql-python", f"{number}: no number: {error!r}"
        assert text in str(error), f"{number}: {error}"
        return
    raise AssertionError(f"no error {number}: {sql}")


driver.connect(int(port), password, mode, certificate)
key = run(
    "SELECT map_key FROM sys.dm_xe_map_values WHERE name = {} AND map_value = {}", "wait_types", "SOS_SCHEDULER_YIELD"
)
assert len(key) == 1, key
create = f"""
CREATE EVENT SESSION {QUOTED} ON SERVER
ADD EVENT sqlos.wait_info (
    ACTION (package0.callstack)
    WHERE ([wait_type] = ({key[0][0]}) AND [opcode] = (1) AND [package0].[counter] <= (1000000)))
ADD TARGET package0.histogram (SET filtering_event_name = N'sqlos.wait_info', slots = (300), source_type = (1),
    source = N'package0.callstack')
WITH (MAX_MEMORY = 4096 KB, MAX_DISPATCH_LATENCY = 1 SECONDS, STARTUP_STATE = OFF)
"""
version_text = run("SELECT @@VERSION AS v")[0][0]
assert version in version_text, version_text

expect_error(25623, "is invalid, or the object could not be found", create.replace("wait_info", "wait_inf"))
expect_error(15151, "does not exist or you do not have permission", f"DROP EVENT SESSION {QUOTED} ON SERVER")
expect_error(208, "Invalid object name", "SELECT * FROM sys.dm_os_spinlock_stat")
expect_error(207, "Invalid column name", "SELECT backoff FROM sys.dm_os_spinlock_stats")
expect_error(102, "Incorrect syntax near 'b'", "SELECT 1 AS a b")
expect_error(156, "Incorrect syntax near the keyword 'FROM'", "SELECT FROM sys.dm_os_wait_stats")

assert driver.transaction("SELECT @@TRANCOUNT AS open_transactions") == [(1,)]
assert run("SELECT @@TRANCOUNT AS open_transactions") == [(0,)]
if driver.give_up:
    started = time.monotonic()
    said = driver.give_up("WAITFOR DELAY '00:00:30'")
    assert said and re.search("(?i)time.?out|cancel", said), said
    assert time.monotonic() - started < 15, "an attention did not end the request"

run(create)
expect_error(25631, "already exists", create)
stored = run(
    "SELECT CAST(f.value AS int) FROM sys.server_event_session_fields AS f "
    "JOIN sys.server_event_sessions AS s ON s.event_session_id = f.event_session_id "
    f"WHERE s.name = N'{SESSION}' AND f.name = N'slots'"
)
assert stored == [(300,)], stored
running = f"SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = N'{SESSION}'"
assert run(running) == [(0,)]
expect_error(25704, "already been stopped", f"ALTER EVENT SESSION {QUOTED} ON SERVER STATE = STOP")
run(f"ALTER EVENT SESSION {QUOTED} ON SERVER STATE = START")
expect_error(25705, "already been started", f"ALTER EVENT SESSION {QUOTED} ON SERVER STATE = START")
assert run(running) == [(1,)]
time.sleep(4)
target = (
    "SELECT CAST(t.target_data AS nvarchar(max)) FROM sys.dm_xe_sessions AS s "
    f"JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address WHERE s.name = N'{SESSION}'"
)
document = run(target)[0][0]
assert document.startswith('<HistogramTarget truncated="0" buckets="512">'), document[:80]
counts = [int(count) for count in re.findall(r'<Slot count="(\d+)"', document)]
assert counts and sum(counts) > 1000, counts
assert ("!" not in document) == (version != "2025"), "frames are raw before the trace flags are on"

flags = "3656" if version < "2019" else "3656, 2592"
status = run(f"DBCC TRACESTATUS ({flags}, -1) WITH NO_INFOMSGS")
assert [row[2] for row in status] == [0] * len(status), status
run(f"DBCC TRACEON ({flags}, -1) WITH NO_INFOMSGS")
status = run(f"DBCC TRACESTATUS ({flags}, -1) WITH NO_INFOMSGS")
assert [row[2] for row in status] == [1] * len(flags.split(",")), status
assert "XeSosPkg::wait_info::Publish" in run(target)[0][0]
run(f"DBCC TRACEOFF ({flags}, -1) WITH NO_INFOMSGS")

run(f"ALTER EVENT SESSION {QUOTED} ON SERVER DROP EVENT sqlos.wait_info")
time.sleep(2.5)
first, second = run(target)[0][0], (time.sleep(1), run(target)[0][0])[1]
assert first == second, "events went on after the event was dropped"
run(f"ALTER EVENT SESSION {QUOTED} ON SERVER STATE = STOP")
assert run(running) == [(0,)] and run(target) == []
run(f"DROP EVENT SESSION {QUOTED} ON SERVER")
left = run(f"SELECT COUNT(*) FROM sys.server_event_sessions WHERE name = N'{SESSION}'")
assert left == [(0,)], left
driver.close()
print(f"ok: {name} {mode} {version}, {sum(counts)} events in {len(counts)} slots")
