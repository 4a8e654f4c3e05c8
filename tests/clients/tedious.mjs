// tedious behind a line protocol: one line of JSON in ({do, sql, parameters, timeout}), one out ({rows} or {number, message}).
// usage: tedious.mjs FOLDER_WITH_TEDIOUS PORT PASSWORD plain|tls|strict CERTIFICATE

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, port, password, mode, certificate] = process.argv.slice(2);
const { Connection, Request, TYPES } = createRequire(`${folder}/`)("tedious");

const connection = new Connection({
    server: "localhost",
    authentication: { type: "default", options: { userName: "sa", password } },
    options: {
        port: Number(port),
        database: "master",
        encrypt: { plain: false, tls: true, strict: "strict" }[mode],
        trustServerCertificate: false,
        cryptoCredentialsDetails: mode === "plain" ? {} : { ca: readFileSync(certificate) },
        requestTimeout: 20000,
    },
});

const connect = () =>
    new Promise((resolve, reject) => connection.connect((error) => (error ? reject(error) : resolve([]))));

// With parameters it is a call of sp_executesql, without one a batch.
const run = (sql, parameters = [], timeout = undefined) =>
    new Promise((resolve, reject) => {
        const rows = [];
        const request = new Request(sql, (error) => (error ? reject(error) : resolve(rows)));
        request.on("row", (columns) => rows.push(columns.map((column) => column.value)));
        parameters.forEach((value, index) => request.addParameter(`p${index}`, TYPES.NVarChar, value));
        if (timeout) request.setTimeout(timeout);
        if (parameters.length) connection.execSql(request);
        else connection.execSqlBatch(request);
    });

const ended = (begin) => new Promise((resolve, reject) => begin((error) => (error ? reject(error) : resolve())));

async function transaction(sql) {
    await ended((done) => connection.beginTransaction(done));
    const rows = await run(sql);
    await ended((done) => connection.commitTransaction(done));
    return rows;
}

for await (const line of createInterface({ input: process.stdin })) {
    const { do: what, sql, parameters, timeout } = JSON.parse(line);
    let answer;
    try {
        const work = { connect, transaction: () => transaction(sql), run: () => run(sql, parameters, timeout) }[what];
        answer = { rows: await work() };
    } catch (error) {
        answer = { number: error.number, message: error.message };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
}
connection.close();
