"""One small adapter a driver: `connect`, `run`, `error_number`, `transaction`, `give_up`. The story they serve is event_session.py."""

import json
import os
import pathlib
import subprocess
import tempfile

SECONDS_TO_GIVE_UP = 1


class PythonDriver:
    """What drivers of Python's DB API share."""

    placeholder = "%s"

    def run(self, sql, *parameters):
        """Rows of a statement; `{}` stands for a parameter."""
        cursor = self.connection.cursor()
        cursor.execute(sql.format(*[self.placeholder] * len(parameters)) if parameters else sql, *([parameters] if parameters else []))
        rows = cursor.fetchall() if cursor.description else []
        cursor.close()
        return [tuple(row) for row in rows]

    def transaction(self, sql):
        """Rows of a statement inside a transaction of the driver's own, which is then committed."""
        self.autocommit(False)
        rows = self.run(sql)
        self.connection.commit()
        self.autocommit(True)
        return rows

    def autocommit(self, on):
        self.connection.autocommit = on

    def close(self):
        self.connection.close()


class Pymssql(PythonDriver):
    """FreeTDS."""

    def connect(self, port, password, mode, certificate):
        # FreeTDS validates the server's certificate against the file that its configuration names.
        configuration = pathlib.Path(tempfile.mkdtemp()) / "freetds.conf"
        configuration.write_text(f"[global]\n ca file = {certificate}\n check certificate hostname = no\n" if mode == "tls" else "")
        os.environ["FREETDSCONF"] = str(configuration)
        import pymssql

        self.connection = pymssql.connect(
            server="127.0.0.1", port=str(port), user="sa", password=password, database="master", autocommit=True,
            tds_version="7.4", encryption="require" if mode == "tls" else "off", login_timeout=20,
        )

    def autocommit(self, on):
        self.connection.autocommit(on)

    def error_number(self, error):
        first = error.args[0]
        return first if isinstance(first, int) else first[0]

    give_up = None


class PythonTds(PythonDriver):
    """python-tds, TDS in Python."""

    def connect(self, port, password, mode, certificate):
        import pytds

        self.timeout = pytds.TimeoutError
        self.connection = pytds.connect(
            dsn="localhost", port=port, user="sa", password=password, database="master", autocommit=True,
            cafile=certificate if mode == "tls" else None, login_timeout=20,
        )

    def error_number(self, error):
        return error.number

    give_up = None


class MssqlPython(PythonDriver):
    """Microsoft's ODBC driver 18."""

    placeholder = "?"

    def connect(self, port, password, mode, certificate):
        # The driver validates against OpenSSL's roots, which this variable names.
        os.environ["SSL_CERT_FILE"] = certificate
        import mssql_python

        encryption = {
            "plain": "Encrypt=no",
            "tls": "Encrypt=yes;TrustServerCertificate=no;HostNameInCertificate=localhost",
            "strict": f"Encrypt=strict;ServerCertificate={certificate}",
        }[mode]
        self.connection = mssql_python.connect(
            f"Server=tcp:127.0.0.1,{port};Database=master;UID=sa;PWD={{{password}}};{encryption};"
        )
        self.connection.autocommit = True

    def error_number(self, error):
        return None  # it gives the text and not the number

    def give_up(self, sql):
        """Runs a statement with a time-out, which must end it; the message."""
        self.connection.timeout = SECONDS_TO_GIVE_UP
        try:
            self.run(sql)
        except Exception as error:
            return str(error)
        finally:
            self.connection.timeout = 0


class Tedious:
    """tedious, in a Node.js process that answers one line of JSON for each it reads."""

    class Error(Exception):
        def __init__(self, answer):
            super().__init__(answer["message"])
            self.number = answer.get("number")

    def connect(self, port, password, mode, certificate):
        folder = pathlib.Path(__file__).parent
        modules = os.environ["TEDIOUS_FOLDER"]
        self.process = subprocess.Popen(
            ["node", folder / "tedious.mjs", modules, str(port), password, mode, certificate],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        )
        self.ask({"do": "connect"})

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "message" in answer:
            raise self.Error(answer)
        return [tuple(row) for row in answer["rows"]]

    def run(self, sql, *parameters):
        names = [f"@p{index}" for index in range(len(parameters))]
        return self.ask({"do": "run", "sql": sql.format(*names) if parameters else sql, "parameters": parameters})

    def transaction(self, sql):
        return self.ask({"do": "transaction", "sql": sql})

    def error_number(self, error):
        return error.number

    def give_up(self, sql):
        try:
            self.ask({"do": "run", "sql": sql, "parameters": [], "timeout": SECONDS_TO_GIVE_UP * 1000})
        except self.Error as error:
            return str(error)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=20) == 0


DRIVERS = {"pymssql": Pymssql, "python-tds": PythonTds, "mssql-python": MssqlPython, "tedious": Tedious}
