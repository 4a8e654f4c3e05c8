//! The system procedures by which drivers run statements, called by their names.

use super::double::{Connection, Double, Seen, config, connect, serve};
use futures_util::TryStreamExt;
use tiberius::{ColumnData, Command, CommandItem};
use xestack::simulator::host::Request;
use xestack::simulator::server::TlsMode;
use xestack::simulator::value::Datum;

/// What a call gives: rows, return values and the return status, a word each.
async fn call(client: &mut Connection, command: Command<'_>) -> Result<Vec<String>, u32> {
    let code = |error: tiberius::error::Error| error.code().unwrap();
    let mut stream = command.exec(client).await.map_err(code)?;
    let mut items = Vec::new();
    while let Some(item) = stream.try_next().await.map_err(code)? {
        match item {
            CommandItem::Row(row) => items.push(format!("row {}", row.try_get::<i32, _>(0).unwrap().unwrap())),
            CommandItem::ReturnStatus(status) => items.push(format!("status {status}")),
            CommandItem::ReturnValue(value) => match value.data() {
                ColumnData::I32(Some(handle)) => items.push(format!("{} {handle}", value.name())),
                other => items.push(format!("{other:?}")),
            },
            CommandItem::Metadata(_) | CommandItem::RowsAffected(_) => {}
        }
    }
    Ok(items)
}

#[tokio::test]
async fn a_statement_is_prepared_executed_and_forgotten() {
    let double = Double::answering([]);
    let server = serve(TlsMode::Off, &double).await;
    let client = &mut connect(config(&server)).await.unwrap();

    let mut prepare = Command::new("sp_prepexec");
    prepare.bind_out_param("@handle", None::<i32>);
    prepare.bind_param("@params", "@id int");
    prepare.bind_param("@stmt", "SELECT @id");
    prepare.bind_param("", 5_i32);
    assert_eq!(call(client, prepare).await.unwrap(), ["row 5", "status 0", "@handle 1"]);

    for value in [6, 7] {
        let mut execute = Command::new("sp_execute");
        execute.bind_param("@handle", 1_i32);
        execute.bind_param("@id", value);
        assert_eq!(call(client, execute).await.unwrap(), [format!("row {value}"), "status 0".to_owned()]);
    }
    let Some(Seen::Start(Request::ExecuteSql { sql, parameters })) = double.seen().pop() else {
        panic!("no statement was seen")
    };
    assert_eq!(
        (sql.as_str(), parameters[0].name.as_str(), &parameters[0].value),
        ("SELECT @id", "@id", &Datum::Int(7))
    );

    let unprepare = || {
        let mut unprepare = Command::new("sp_unprepare");
        unprepare.bind_param("@handle", 1_i32);
        unprepare
    };
    assert_eq!(call(client, unprepare()).await.unwrap(), ["status 0"]);
    assert_eq!(call(client, unprepare()).await, Err(8179));
}

#[tokio::test]
async fn other_procedures_do_not_exist() {
    let server = serve(TlsMode::Off, &Double::answering([])).await;
    let client = &mut connect(config(&server)).await.unwrap();
    assert_eq!(call(client, Command::new("sp_who")).await, Err(2812));
    assert_eq!(call(client, Command::new("sp_executesql")).await, Err(201));
}

#[tokio::test]
async fn a_connection_is_reset_by_call() {
    let double = Double::answering([]);
    let server = serve(TlsMode::Off, &double).await;
    let client = &mut connect(config(&server)).await.unwrap();
    assert_eq!(call(client, Command::new("sp_reset_connection")).await.unwrap(), ["status 0"]);
    assert_eq!(double.count(&Seen::Reset), 1);
}
