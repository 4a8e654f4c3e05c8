"""Parses files of T-SQL with Microsoft's own parser (ScriptDom, inside PyPI's mssql-cli; it knows SQL Server 2019's grammar).

usage: tsql_syntax.py FILE...
Prints every syntax error with file, line and column, and exits 1 where there is one.
"""

import importlib.util
import json
import os
import pathlib
import sys
import tempfile


def package_folder(name):
    return pathlib.Path(importlib.util.find_spec(name).origin).parent


def start_runtime():
    """.NET Core from PyPI's dotnetcore2, without a system installation and without ICU."""
    os.environ["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1"
    root = package_folder("dotnetcore2") / "bin"
    (root / "dotnet").chmod(0o755)
    framework = {"name": "Microsoft.NETCore.App", "version": "3.1.0"}
    config = pathlib.Path(tempfile.mkdtemp()) / "runtime.json"
    config.write_text(json.dumps({"runtimeOptions": {"tfm": "netcoreapp3.1", "framework": framework}}))

    import clr_loader
    import pythonnet

    pythonnet.set_runtime(clr_loader.get_coreclr(runtime_config=str(config), dotnet_root=str(root)))


def newest_parser():
    import clr

    sys.path.append(str(package_folder("mssqlcli") / "mssqltoolsservice" / "bin"))
    clr.AddReference("Microsoft.SqlServer.TransactSql.ScriptDom")
    from Microsoft.SqlServer.TransactSql.ScriptDom import TSql150Parser

    return TSql150Parser(True)


def main(files):
    start_runtime()
    parser = newest_parser()
    import System

    wrong = 0
    for file in files:
        text = pathlib.Path(file).read_text(encoding="utf-8-sig")
        fragment, errors = parser.Parse(System.IO.StringReader(text), None)
        for error in errors:
            print(f"{file}:{error.Line}:{error.Column}: {error.Message}")
        wrong += errors.Count
        statements = sum(batch.Statements.Count for batch in fragment.Batches) if not errors.Count else 0
        print(f"{pathlib.Path(file).name}: {statements} statements, {errors.Count} syntax errors")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
