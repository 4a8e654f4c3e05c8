//! Owns a look at an access token before it is sent: a wrong or expired one is told plainly instead of by error 18456.
//! Nothing is validated here; that is the server's part.

use crate::model::UtcMicros;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};

/// How much this machine's clock may be off before a token counts as expired.
const CLOCK_MAY_BE_OFF_SECONDS: i64 = 300;

/// Why a token cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenProblem {
    #[error("this is no access token of Microsoft Entra: one has three parts, joined by dots, and begins with eyJ")]
    NoToken,
    #[error("the access token expired at {0}; get a new one")]
    Expired(UtcMicros),
}

/// Looks at a token. Gives whom it is for when that is not SQL.
pub(super) fn check(token: &SecretString, now: UtcMicros) -> Result<Option<String>, TokenProblem> {
    let parts: Vec<&str> = token.expose_secret().split('.').collect();
    let [header, payload, signature] = parts.as_slice() else { return Err(TokenProblem::NoToken) };
    let object = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes).ok()
    };
    let (Some(_), Some(claims), false) = (object(header), object(payload), signature.is_empty()) else {
        return Err(TokenProblem::NoToken);
    };
    let expires = claims.get("exp").and_then(serde_json::Value::as_f64).map(|seconds| seconds as i64);
    if let Some(expires) = expires
        && expires.saturating_add(CLOCK_MAY_BE_OFF_SECONDS) < now.unix_seconds()
    {
        return Err(TokenProblem::Expired(UtcMicros::from_unix_seconds(expires)));
    }
    // In every cloud the resource's name begins so: database.windows.net, database.usgovcloudapi.net, ...
    let audience = claims.get("aud").and_then(serde_json::Value::as_str);
    Ok(audience.filter(|audience| !audience.contains("database.")).map(|audience| audience.chars().take(200).collect()))
}

#[cfg(test)]
mod tests {
    use super::{TokenProblem, check};
    use crate::model::UtcMicros;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use secrecy::SecretString;

    fn token(claims: &str) -> SecretString {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        SecretString::from(format!("{}.{}.c2ln", part(r#"{"typ":"JWT","alg":"RS256"}"#), part(claims)))
    }

    #[test]
    fn shape_age_and_audience_are_looked_at() {
        let now = UtcMicros::from_unix_seconds(1_800_000_000);
        let look = |claims: &str| check(&token(claims), now);
        assert_eq!(look(r#"{"aud":"https://database.windows.net/","exp":1800003600}"#), Ok(None));
        assert_eq!(look(r#"{"exp":1799999900}"#), Ok(None), "clocks differ");
        assert_eq!(look("{}"), Ok(None));
        assert_eq!(
            look(r#"{"aud":"https://graph.microsoft.com"}"#),
            Ok(Some("https://graph.microsoft.com".to_owned()))
        );
        let expired = TokenProblem::Expired(UtcMicros::from_unix_seconds(1_799_990_000));
        assert_eq!(look(r#"{"exp":1799990000}"#), Err(expired));
        for wrong in ["", "x", "a.b", "a.b.c", "Bearer eyJ", "eyJ0.e30.", "..", "e30.e30.x.y", "e30.W10.x"] {
            assert_eq!(check(&SecretString::from(wrong.to_owned()), now), Err(TokenProblem::NoToken), "{wrong}");
        }
    }
}
