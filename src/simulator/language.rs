//! Owns the server's language: names, dates, and the texts of messages.
//!
//! Texts are written for the simulator; only that they are no English is like the product. Numbers stay what they are.

use crate::simulator::output::Message;

/// A language of the server and its logins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Language {
    #[default]
    English,
    German,
    French,
    Turkish,
}

/// Name, alias and number of each (sys.syslanguages documentation).
const LANGUAGES: [(Language, &str, &str, i64); 4] = [
    (Language::English, "us_english", "English", 0),
    (Language::German, "Deutsch", "German", 1),
    (Language::French, "Français", "French", 2),
    (Language::Turkish, "Türkçe", "Turkish", 22),
];

/// From here on messages are those of users, and 0 is PRINT.
const FIRST_OF_USERS: u32 = 50_000;

/// Number, then German, French and Turkish; `{0}`, `{1}` are what stands between quotation marks in the English text.
const TEXTS: [(u32, [&str; 3]); 18] = [
    (
        102,
        [
            "Falsche Syntax in der Nähe von '{0}'.",
            "Syntaxe incorrecte vers '{0}'.",
            "'{0}' yakınında yanlış söz dizimi.",
        ],
    ),
    (
        156,
        [
            "Falsche Syntax in der Nähe des '{0}'-Schlüsselworts.",
            "Syntaxe incorrecte vers le mot clé '{0}'.",
            "'{0}' anahtar sözcüğü yakınında yanlış söz dizimi.",
        ],
    ),
    (207, ["Ungültiger Spaltenname '{0}'.", "Nom de colonne non valide : '{0}'.", "Geçersiz sütun adı '{0}'."]),
    (208, ["Ungültiger Objektname '{0}'.", "Nom d'objet non valide : \"{0}\".", "Geçersiz nesne adı '{0}'."]),
    (
        241,
        [
            "Fehler beim Konvertieren einer Zeichenfolge in ein Datum und/oder eine Uhrzeit.",
            "Échec de la conversion d'une chaîne en date et/ou heure.",
            "Karakter dizesi tarih ve/veya saate dönüştürülemedi.",
        ],
    ),
    (
        242,
        [
            "Der Wert liegt nach der Konvertierung in einen Datumstyp außerhalb des gültigen Bereichs.",
            "La conversion en type date a produit une valeur hors limites.",
            "Tarih türüne dönüştürme aralık dışında bir değere neden oldu.",
        ],
    ),
    (
        262,
        [
            "Die Berechtigung wurde in der Datenbank '{0}' verweigert.",
            "Autorisation refusée dans la base de données '{0}'.",
            "'{0}' veritabanında izin reddedildi.",
        ],
    ),
    (
        297,
        [
            "Der Benutzer verfügt nicht über die Berechtigung zum Ausführen dieser Aktion.",
            "L'utilisateur n'est pas autorisé à effectuer cette action.",
            "Kullanıcının bu işlemi gerçekleştirme izni yok.",
        ],
    ),
    (
        300,
        [
            "Die Berechtigung wurde für das Objekt '{0}', Datenbank '{1}', verweigert.",
            "Autorisation refusée sur l'objet \"{0}\", base de données \"{1}\".",
            "'{1}' veritabanının '{0}' nesnesinde izin reddedildi.",
        ],
    ),
    (
        2528,
        [
            "Die DBCC-Ausführung wurde abgeschlossen. Falls DBCC Fehlermeldungen ausgegeben hat, wenden Sie sich an den Systemadministrator.",
            "Exécution de DBCC terminée. Si DBCC vous a adressé des messages d'erreur, contactez l'administrateur système.",
            "DBCC yürütmesi tamamlandı. DBCC hata iletileri yazdırdıysa sistem yöneticinize başvurun.",
        ],
    ),
    (
        2571,
        [
            "Benutzer '{0}' verfügt nicht über die Berechtigung zum Ausführen dieses DBCC-Befehls.",
            "L'utilisateur '{0}' n'est pas autorisé à exécuter cette commande DBCC.",
            "'{0}' kullanıcısının bu DBCC komutunu çalıştırma izni yok.",
        ],
    ),
    (
        4060,
        [
            "Die von der Anmeldung angeforderte Datenbank \"{0}\" kann nicht geöffnet werden.",
            "Impossible d'ouvrir la base de données \"{0}\" demandée par la connexion.",
            "Oturum açma tarafından istenen \"{0}\" veritabanı açılamıyor.",
        ],
    ),
    (
        5703,
        [
            "Die Spracheneinstellung wurde auf Deutsch geändert.",
            "Le paramètre de langue est passé à Français.",
            "Dil ayarı Türkçe olarak değiştirildi.",
        ],
    ),
    (
        15151,
        [
            "Für die Ereignissitzung '{0}' ist das nicht möglich, weil sie nicht vorhanden ist oder Sie nicht die erforderliche Berechtigung haben.",
            "Impossible pour la session d'événements '{0}', car elle n'existe pas ou vous ne disposez pas de l'autorisation.",
            "'{0}' olay oturumu için yapılamıyor; mevcut değil veya izniniz yok.",
        ],
    ),
    (
        15247,
        [
            "Der Benutzer ist nicht zum Ausführen dieser Aktion berechtigt.",
            "L'utilisateur ne dispose pas de l'autorisation nécessaire pour effectuer cette action.",
            "Kullanıcının bu eylemi gerçekleştirme izni yok.",
        ],
    ),
    (
        18456,
        [
            "Fehler bei der Anmeldung für den Benutzer '{0}'.",
            "Échec de l'ouverture de session de l'utilisateur '{0}'.",
            "'{0}' kullanıcısı oturum açamadı.",
        ],
    ),
    (
        25623,
        [
            "Der Name \"{0}\" ist ungültig, oder das Objekt wurde nicht gefunden.",
            "Le nom \"{0}\" n'est pas valide ou l'objet est introuvable.",
            "\"{0}\" adı geçersiz veya nesne bulunamadı.",
        ],
    ),
    (
        25631,
        [
            "Die Ereignissitzung \"{0}\" ist bereits vorhanden.",
            "La session d'événements \"{0}\" existe déjà.",
            "\"{0}\" olay oturumu zaten var.",
        ],
    ),
];

impl Language {
    /// By its name or alias.
    pub fn named(name: &str) -> Option<Self> {
        let same = |known: &str| known.to_lowercase() == name.to_lowercase();
        LANGUAGES.iter().find(|(_, known, alias, _)| same(known) || same(alias)).map(|(language, ..)| *language)
    }

    fn row(self) -> (&'static str, i64) {
        LANGUAGES.iter().find(|(known, ..)| *known == self).map_or(("", 0), |(_, name, _, id)| (*name, *id))
    }

    /// `@@LANGUAGE`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// `@@LANGID`.
    pub fn id(self) -> i64 {
        self.row().1
    }

    /// `@@DATEFIRST`: Sunday is 7.
    pub fn first_day(self) -> i64 {
        if self == Self::English { 7 } else { 1 }
    }

    /// `mdy` or `dmy`.
    pub fn date_format(self) -> &'static str {
        if self == Self::English { "mdy" } else { "dmy" }
    }

    /// A text that becomes a datetime: where the day comes before the month, `2026-11-30` is the 11th day of the 30th
    /// month (documented for datetime and smalldatetime; not with `T`, nor without hyphens).
    pub fn datetime_text(self, text: &str) -> Option<String> {
        if self == Self::English {
            return None;
        }
        let (date, time) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let parts: Vec<&str> = date.split('-').collect();
        match parts.as_slice() {
            [year, day, month] if year.len() == 4 && !month.contains('T') => {
                Some(format!("{year}-{month}-{day} {time}").trim_end().to_owned())
            }
            _ => None,
        }
    }

    /// A message in this language; a number without a text of its own is told with what the English one quotes.
    #[must_use]
    pub fn translated(self, message: Message) -> Message {
        let column = match self {
            Self::English => return message,
            Self::German => 0,
            Self::French => 1,
            Self::Turkish => 2,
        };
        if message.number == 0 || message.number >= FIRST_OF_USERS {
            return message;
        }
        let quoted = quoted(&message.text);
        let known = TEXTS.iter().find(|(number, _)| *number == message.number);
        let text = if let Some(text) = known.and_then(|(_, texts)| texts.get(column)) {
            let places = quoted.iter().enumerate();
            places.fold((*text).to_owned(), |text, (place, part)| text.replace(&format!("{{{place}}}"), part))
        } else {
            let word = ["Meldung", "Message", "İleti"].get(column).copied().unwrap_or_default();
            format!("{word} {}: {}", message.number, quoted.join(", "))
        };
        Message { text, ..message }
    }
}

/// What stands between two of the same quotation marks.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find(['\'', '"']) {
        let Some((mark, after)) = rest.get(open..).and_then(|from| from.split_at_checked(1)) else { break };
        let Some((inside, left)) = after.split_once(mark) else { break };
        found.push(inside);
        rest = left;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Language;
    use crate::simulator::output::Message;

    #[test]
    fn messages_keep_their_numbers_and_names() {
        let message = Message::new(208, 16, "Invalid object name 'sys.x'.");
        let german = Language::German.translated(message.clone());
        assert_eq!((german.number, german.text.as_str()), (208, "Ungültiger Objektname 'sys.x'."));
        assert_eq!(Language::German.translated(german.clone()), german, "translating again changes nothing");
        assert_eq!(Language::English.translated(message.clone()), message);
        let other = Message::new(1205, 13, "Transaction (Process ID 5) was chosen as the victim of \"x\".");
        assert_eq!(Language::Turkish.translated(other).text, "İleti 1205: x");
        let own = Message::new(50_000, 16, "mine");
        assert_eq!(Language::French.translated(own.clone()), own);
    }

    #[test]
    fn days_come_before_months() {
        assert_eq!(Language::French.datetime_text("2026-11-30 10:00"), Some("2026-30-11 10:00".to_owned()));
        for text in ["20261130", "2026-11-30T10:00:00", "30.11.2026"] {
            assert_eq!(Language::French.datetime_text(text), None, "{text}");
        }
        assert_eq!(Language::English.datetime_text("2026-11-30"), None);
        assert_eq!(Language::named("türkçe"), Some(Language::Turkish));
        assert_eq!(Language::named("german"), Some(Language::German));
    }
}
