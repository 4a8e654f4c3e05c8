//! Owns where spinlocks are spun on.

use super::{OWNER_LOOKUP, Path, ROW_LOCK, STATEMENT_COMPLETED, STATEMENTS, seek_from};
use crate::simulator::maps;
use crate::simulator::versions::VersionData;

/// On top of every back-off that sleeps: the event's own frames.
const SLEEP: [&str; 2] = ["sqldk!XeSosPkg::spinlock_backoff::Publish+0x1a9", "sqldk!SpinlockBase::Sleep+0xb6"];
/// Between, in some stacks and not in others (published captures show both).
const BACKOFF: &str = "sqldk!SpinlockBase::Backoff+0x8f";

/// First template argument of a spinlock's `Spinlock<…>`. It is not the map key on most versions; assumed: a version's
/// numbers are off its keys by the same for all spinlocks, as LOCK_HASH's published number is.
fn template(version: &VersionData, spinlock: &str) -> i64 {
    let types = maps::map(version, "spinlock_types");
    let key = |name: &str| types.as_ref().and_then(|map| map.key(name)).map_or(0, i64::from);
    version.lock_hash_template.parse::<i64>().map_or(0, |lock_hash| lock_hash + key(spinlock) - key("LOCK_HASH"))
}

/// The frame in which a spinlock is spun on: its kind and its way to spin differ between spinlocks.
pub fn spin_frame(version: &VersionData, spinlock: &str) -> String {
    let number = template(version, spinlock);
    match spinlock {
        "LOCK_HASH" => format!("sqlmin!Spinlock<{number},7,1>::SpinToAcquireWithExponentialBackoff+0x16b"),
        "SOS_CACHESTORE" => format!("sqllang!Spinlock<{number},1,0>::SpinToAcquireOptimistic+0xd4"),
        "OPT_IDX_STATS" => format!("sqlmin!Spinlock<{number},1,0>::SpinToAcquireWithExponentialBackoff+0x151"),
        _ => format!("sqldk!Spinlock<{number},2,1>::SpinToAcquireWithExponentialBackoff+0x14c"),
    }
}

/// The usual paths to a spinlock.
pub fn to_spinlock(version: &VersionData, spinlock: &str) -> Vec<Path> {
    let spin = spin_frame(version, spinlock);
    let backing_off = |with_backoff: bool, weight: u64| {
        Path::new(SLEEP, weight).below(with_backoff.then_some(BACKOFF)).below([&spin])
    };
    match spinlock {
        "LOCK_HASH" => lock_hash(backing_off),
        "SOS_CACHESTORE" => cache_store(backing_off),
        "OPT_IDX_STATS" => {
            vec![backing_off(false, 1).below(["sqlmin!IndexUsageStats::Update+0x77"]).below(seek_from(5))]
        }
        _ => {
            let owner = match spinlock {
                "SOS_SUSPEND_QUEUE" => "sqldk!EventInternal<SuspendQueueSLock>::Signal+0x61",
                "MUTEX" => "sqldk!UnfairRecursiveMutexInternal<SuspendQueueSLock>::Acquire+0x4f",
                "SOS_SCHEDULER" => "sqldk!SOS_Scheduler::AddRunnableTask+0x39",
                _ => "sqldk!SOS_Task::Wake+0x28",
            };
            vec![
                backing_off(false, 700).below([owner]).below(OWNER_LOOKUP).below(STATEMENTS),
                backing_off(true, 300).below([owner]).below(STATEMENTS),
            ]
        }
    }
}

/// Taking and giving back the row lock.
fn lock_hash(backing_off: impl Fn(bool, u64) -> Path) -> Vec<Path> {
    let acquire = |path: Path| path.below(["sqlmin!lck_lockInternal+0x7fa"]).below(ROW_LOCK).below(seek_from(3));
    let release = |path: Path| {
        path.below(["sqlmin!LockReference::Release+0x93", "sqlmin!BTreeRow::ReleaseLock+0x4e"]).below(seek_from(3))
    };
    vec![
        acquire(backing_off(false, 560)),
        release(backing_off(false, 380)),
        acquire(backing_off(true, 40)),
        release(backing_off(true, 20)),
    ]
}

/// Finding the cached rows of a security lookup.
fn cache_store(backing_off: impl Fn(bool, u64) -> Path) -> Vec<Path> {
    let get = |offset: &str, path: Path| {
        path.below([format!("sqllang!SOS_CacheStore::GetUserData+{offset}")])
            .below(["sqllang!OpenSystemTableRowset+0x1c7"])
            .below(OWNER_LOOKUP)
            .below(["sqllang!SECCheckPermission+0x2c8"])
            .below(STATEMENTS)
    };
    vec![get("0x9e", backing_off(true, 900)), get("0xe5", backing_off(true, 60)), get("0x9e", backing_off(false, 40))]
}

/// The paths to LOCK_HASH where an event session looks at every statement: some lead through the event.
pub fn through_statement_events(version: &VersionData) -> Vec<Path> {
    let spin = spin_frame(version, "LOCK_HASH");
    let collecting = Path::new(SLEEP, 650)
        .below([&spin])
        .below(["sqlmin!lck_lockInternal+0x7fa", "sqlmin!GetLock+0x1ea"])
        .below(["sqllang!XeSqlPkg::CollectSqlText+0x8b"])
        .below(STATEMENT_COMPLETED)
        .below(STATEMENTS);
    let mut paths = to_spinlock(version, "LOCK_HASH");
    paths.push(collecting);
    paths
}
