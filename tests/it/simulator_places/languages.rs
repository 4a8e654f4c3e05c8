//! Languages of servers: texts and dates follow them, numbers do not.

use super::Place;
use xestack::model::ServerVersion;

async fn place(language: &str) -> Place {
    let fault = format!("language={language}");
    Place::new(ServerVersion::V2022, &[fault.as_str()], &[]).await
}

#[tokio::test]
async fn messages_are_in_the_servers_language() {
    for (language, name, id, text) in [
        ("us_english", "us_english", "0", "Invalid object name 'sys.nothing'."),
        ("German", "Deutsch", "1", "Ungültiger Objektname 'sys.nothing'."),
        ("French", "Français", "2", "Nom d'objet non valide : \"sys.nothing\"."),
        ("Turkish", "Türkçe", "22", "Geçersiz nesne adı 'sys.nothing'."),
    ] {
        let place = place(language).await;
        let mut session = place.login("sa").await;
        assert_eq!(session.rows("SELECT @@LANGUAGE, @@LANGID").await, [[name, id]]);
        assert_eq!(session.answer("SELECT * FROM sys.nothing").await.unwrap_err(), (208, text.to_owned()));
        let caught = "BEGIN TRY EXEC sp_executesql N'SELECT * FROM sys.nothing' END TRY
            BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE() END CATCH";
        assert_eq!(session.rows(caught).await, [["208", text]]);
        assert_eq!(session.answer("RAISERROR (N'mine', 16, 1)").await.unwrap_err(), (50000, "mine".to_owned()));
        let (number, text) = session.answer("ALTER EVENT SESSION x ON SERVER STATE = STOP").await.unwrap_err();
        assert!(number == 15151 && text.contains("'x'"), "{text}");
        assert_eq!(text.contains("does not exist"), language == "us_english", "{text}");
        let language_of = "SELECT language, date_format FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
        let format = if language == "us_english" { "mdy" } else { "dmy" };
        assert_eq!(session.rows(language_of).await, [[name, format]]);
        assert_eq!(place.try_login("nobody", None).await.err(), Some(18456));
    }
}

#[tokio::test]
async fn dates_are_read_in_the_servers_order() {
    for (language, late, early) in
        [("us_english", 0, "3"), ("German", 242, "4"), ("French", 242, "4"), ("Turkish", 242, "4")]
    {
        let place = place(language).await;
        let mut session = place.login("sa").await;
        assert_eq!(session.error("SELECT CAST('2026-11-30' AS datetime)").await, late, "{language}");
        assert_eq!(session.error("SELECT CAST('2026-11-30' AS datetime2)").await, 0, "{language}");
        assert_eq!(session.error("SELECT CAST('20261130' AS datetime)").await, 0, "{language}");
        assert_eq!(session.error("SELECT CAST('2026-11-30T10:00:00' AS datetime)").await, 0, "{language}");
        assert_eq!(session.error("SELECT CAST('no date' AS datetime)").await, 241, "{language}");
        assert_eq!(session.value("SELECT MONTH(CAST('2026-03-04' AS datetime))").await, early, "{language}");
        assert_eq!(session.value("SELECT @@DATEFIRST").await, if late == 0 { "7" } else { "1" });
    }
}
