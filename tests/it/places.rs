//! The places that a server runs in: what is asked of each, and that nothing is taken for granted.

use crate::capture::Lab;
use xestack::model::ServerVersion;

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_says_who_answered_and_since_when() {
    for version in [ServerVersion::V2008R2, ServerVersion::V2016, ServerVersion::V2019, ServerVersion::V2022] {
        let mut lab = Lab::new(version, |_| {}).await;
        lab.options.trace_flags.enable = false;
        let (outcome, _) = lab.report().await;
        let server = outcome.evidence.server.unwrap();
        assert_eq!(server.version, Some(version));
        assert_eq!(server.host_platform.as_deref(), Some("Windows"), "{version}");
        assert_eq!(server.collation.as_deref(), Some("SQL_Latin1_General_CP1_CI_AS"), "{version}");
        assert_eq!(server.database.as_deref(), Some("master"), "{version}");
        assert!(server.machine.is_some() && server.instance.is_none(), "{version}: {server:?}");
        // Availability groups came with 2012.
        assert_eq!(server.hadr_enabled, (version > ServerVersion::V2008R2).then_some(false), "{version}");
        assert_eq!(server.clustered, Some(false), "{version}");
        assert!(server.started_ms_ticks.unwrap() < server.ms_ticks.unwrap(), "{version}: {server:?}");
        lab.assert_as_before("identity").await;
    }
}
