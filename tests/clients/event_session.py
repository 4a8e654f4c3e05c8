"""A whole event session against a simulated server, through a driver that shares no code with it.

usage: event_session.py DRIVER HOST PORT PASSWORD plain|tls CERTIFICATE VERSION
DRIVER is pymssql or mssql-python (Microsoft's ODBC driver 18). Exits 0 and prints one line where everything is as it
should be; an assertion names what is not.
"""

import os
import re
import sys
import time

driver, host, port, password, mode, certificate, version = sys.argv[1:8]
SESSION = "looking on [from outside]"
QUOTED = "[looking on [from outside]]]"


def connect():
    if driver == "pymssql":
        import pymssql

        encryption = "require" if mode == "tls" else "off"
        return pymssql.connect(
            server=host, port=port, user="sa", password=password, database="master", autocommit=True,
            tds_version="7.4", encryption=encryption, login_timeout=20,
        )
    import mssql_python

    # The driver validates against OpenSSL's roots, which this variable names.
    os.environ["SSL_CERT_FILE"] = certificate
    tls = "Encrypt=yes;TrustServerCertificate=no;HostNameInCertificate=localhost;" if mode == "tls" else "Encrypt=no;"
    connection = mssql_python.connect(f"Server=tcp:{host},{port};Database=master;UID=sa;PWD={{{password}}};{tls}")
    connection.autocommit = True
    return connection


def run(sql):
    cursor = connection.cursor()
    cursor.execute(sql)
    rows = cursor.fetchall() if cursor.description else []
    cursor.close()
    return [tuple(row) for row in rows]


def error_number(sql):
    """The number of the error a statement must raise."""
    try:
        run(sql)
    except Exception as error:
        if driver == "pymssql":
            return error.args[0] if isinstance(error.args[0], int) else int(re.search(r"\((\d+),", str(error)).group(1))
        return str(error)
    raise AssertionError(f"no error: {sql}")


def expect_error(number, text, sql):
    found = error_number(sql)
    # ODBC gives the text and not the number.
    assert found == number or (isinstance(found, str) and re.search(text, found)), f"{number}: {found!r}"


connection = connect()
key = run("SELECT map_key FROM sys.dm_xe_map_values WHERE name = N'wait_types' AND map_value = N'SOS_SCHEDULER_YIELD'")
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

flags = "3656" if version == "2017" else "3656, 2592"
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
connection.close()
print(f"ok: {driver} {mode} {version}, {sum(counts)} events in {len(counts)} slots")
