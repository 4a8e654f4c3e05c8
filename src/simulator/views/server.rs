//! Owns the rows about the server itself: schedulers, time, memory, modules.

use crate::simulator::modules::Module;
use crate::simulator::properties;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, address, time};
use crate::simulator::workload::machine::Node;

/// Nominal frequency of the simulated CPUs: 2.7 GHz.
const TICKS_PER_MICRO: i64 = 2_700;
/// Schedulers that clients' tasks never run on are numbered from here (documented).
const HIDDEN_SCHEDULER: i32 = 1_048_576;

/// CPU time that one scheduler of a node used since the server's start, in microseconds.
fn scheduler_cpu_micros(source: Source<'_>, node: &Node) -> u64 {
    let busy = source.busy_micros();
    let up = source.uptime_micros().max(0) as u64;
    let share = |micros: u64, percent: u32| micros * u64::from(percent) / 100;
    let idle_percent = source.instance.truth().machine.idle_cpu_percent;
    share(busy, node.loaded_cpu_percent) + share(up.saturating_sub(busy), idle_percent)
}

/// CPU time that all schedulers used since the server's start, in microseconds.
fn cpu_micros(source: Source<'_>) -> u64 {
    let nodes = source.instance.truth().machine.nodes.iter();
    nodes.map(|node| scheduler_cpu_micros(source, node) * u64::from(node.schedulers)).sum()
}

/// sys.dm_os_schedulers: the user schedulers, a hidden one and that of the dedicated admin connection.
pub fn schedulers(source: Source<'_>) -> Vec<Record> {
    let truth = source.instance.truth();
    let loaded = source.state.load.is_on(source.now.monotonic);
    let up_ms = source.uptime_micros() / 1_000;
    let machine = truth.machine;
    let busy: Vec<u32> = machine.busy_schedulers().map(|scheduler| scheduler.id).collect();
    let busy_count = busy.len().max(1) as u64;
    let capped_ms = source.busy_micros() / 1_000 * u64::from(machine.capped_percent) / 100;
    let yields = truth.counters.waits.iter().find(|wait| wait.name == "SOS_SCHEDULER_YIELD");
    let yields = yields.map_or(0, |wait| source.counted(wait.waits)) / busy_count;
    let queued = if source.state.engine.runs_for_clients() { source.instance.switches().work_queue } else { 0 };
    let mut rows = Vec::new();
    for scheduler in machine.schedulers() {
        let id = scheduler.id;
        let is_busy = loaded && busy.contains(&id);
        let yields = if busy.contains(&id) { yields } else { 0 };
        let runnable = if loaded { scheduler.runnable(source.now.monotonic) } else { 0 };
        let client_tasks = if is_busy { u64::from(truth.connections) / busy_count } else { 0 };
        let tasks = 2 + client_tasks + u64::from(id < 2);
        let cpu_ms = scheduler_cpu_micros(source, scheduler.node) / 1_000;
        rows.push(
            Record::new()
                .with("scheduler_address", address(0x0000_01f4_2000_0040 + u64::from(id) * 0x4_0000))
                .with("parent_node_id", scheduler.node_id)
                .with("scheduler_id", id)
                .with("cpu_id", id)
                .with("status", "VISIBLE ONLINE")
                .with("is_online", true)
                .with("is_idle", !is_busy)
                .with("preemptive_switches_count", up_ms / 700)
                .with("context_switches_count", up_ms / 9 + yields as i64)
                .with("idle_switches_count", up_ms / 12)
                .with("current_tasks_count", tasks)
                .with("runnable_tasks_count", runnable)
                .with("current_workers_count", tasks + 6)
                .with("active_workers_count", tasks)
                .with("work_queue_count", queued)
                .with("load_factor", tasks)
                .with("yield_count", up_ms / 8 + yields as i64)
                .with("last_timer_activity", up_ms)
                .with("failed_to_create_worker", false)
                .with("active_worker_address", address(0x0000_01f4_5000_0160 + u64::from(id) * 0x1000))
                .with("memory_object_address", address(0x0000_01f4_1000_0060))
                .with("task_memory_object_address", address(0x0000_01f4_1000_4060))
                .with("quantum_length_us", 4_000)
                .with("total_cpu_usage_ms", cpu_ms)
                .with("total_cpu_idle_capped_ms", if busy.contains(&id) { capped_ms } else { 0 })
                .with("total_scheduler_delay_ms", cpu_ms * 3)
                .with("ideal_workers_limit", 64),
        );
    }
    let other = |id: i32, node: i32, status: &'static str| {
        Record::new()
            .with("scheduler_address", address(0x0000_01f4_2800_0040 + (id as u64 & 0xff) * 0x4_0000))
            .with("parent_node_id", node)
            .with("scheduler_id", id)
            .with("cpu_id", 0)
            .with("status", status)
            .with("is_online", true)
            .with("is_idle", true)
            .with("current_tasks_count", 1)
            .with("current_workers_count", 2)
            .with("active_workers_count", 1)
            .with("quantum_length_us", 4_000)
    };
    rows.push(other(HIDDEN_SCHEDULER, 0, "HIDDEN ONLINE"));
    rows.push(other(HIDDEN_SCHEDULER + 7, 64, "VISIBLE ONLINE (DAC)"));
    rows
}

/// A mask of `count` processors from a first one on.
fn mask(first: u32, count: u32) -> i64 {
    let ones = |bits: u32| (1_i64 << bits.min(62)) - 1;
    ones(first + count) & !ones(first)
}

/// sys.dm_os_nodes: the machine's nodes and that of the dedicated admin connection.
pub fn nodes(source: Source<'_>) -> Vec<Record> {
    let node = |id: u32, state: &'static str, first: u32, schedulers: u32| {
        Record::new()
            .with("node_id", id)
            .with("node_state_desc", state)
            .with("memory_node_id", id)
            .with("cpu_affinity_mask", mask(first, schedulers))
            .with("online_scheduler_count", schedulers)
            .with("online_scheduler_mask", mask(first, schedulers))
            .with("cpu_count", schedulers)
    };
    let mut first = 0;
    let mut rows = Vec::new();
    for (id, of_machine) in (0..).zip(source.instance.truth().machine.nodes) {
        rows.push(node(id, "ONLINE", first, of_machine.schedulers));
        first += of_machine.schedulers;
    }
    rows.push(node(64, "ONLINE DAC", 0, 1));
    rows
}

/// Memory of the machine, and what the buffer pool has and aims at. 2008 R2 tells the pool in pages (documented).
const PHYSICAL_KB: i64 = 16_777_216;
const VIRTUAL_KB: i64 = 137_438_953_344;
const COMMITTED_KB: i64 = 11_534_336;
const TARGET_KB: i64 = 12_582_912;
const PAGE_KB: i64 = 8;

/// sys.dm_os_sys_info. Its time zone is UTC, so the start time's local time is too.
pub fn sys_info(source: Source<'_>) -> Vec<Record> {
    let machine = source.instance.truth().machine;
    let schedulers = machine.scheduler_count();
    let sockets = machine.nodes.len() as u32;
    let (vm, vm_desc) = if machine.is_virtual { (1, "HYPERVISOR") } else { (0, "NONE") };
    let started = source.state.process.started;
    let up = source.uptime_micros();
    let machine_up = source.machine_uptime_micros();
    let cpu_ms = cpu_micros(source) / 1_000;
    let kernel_ms = cpu_ms / 25;
    vec![
        Record::new()
            .with("cpu_ticks", machine_up.saturating_mul(TICKS_PER_MICRO))
            .with("ms_ticks", machine_up / 1_000)
            .with("cpu_count", schedulers)
            .with("hyperthread_ratio", schedulers / sockets.max(1))
            .with("physical_memory_kb", PHYSICAL_KB)
            .with("virtual_memory_kb", VIRTUAL_KB)
            .with("committed_kb", COMMITTED_KB)
            .with("committed_target_kb", TARGET_KB)
            .with("visible_target_kb", TARGET_KB)
            .with("physical_memory_in_bytes", PHYSICAL_KB * 1_024)
            .with("virtual_memory_in_bytes", VIRTUAL_KB * 1_024)
            .with("bpool_committed", COMMITTED_KB / PAGE_KB)
            .with("bpool_commit_target", TARGET_KB / PAGE_KB)
            .with("bpool_visible", TARGET_KB / PAGE_KB)
            .with("stack_size_in_bytes", 2_093_056)
            .with("os_quantum", 5)
            .with("os_error_mode", 5)
            .with("os_priority_class", 32)
            .with("max_workers_count", 576)
            .with("scheduler_count", schedulers)
            .with("scheduler_total_count", schedulers + 12)
            .with("deadlock_monitor_serial_number", up / 5_000_000)
            .with("sqlserver_start_time_ms_ticks", (machine_up - up) / 1_000)
            .with("sqlserver_start_time", time(started.utc))
            .with("affinity_type", 2)
            .with("affinity_type_desc", "AUTO")
            .with("process_kernel_time_ms", kernel_ms)
            .with("process_user_time_ms", cpu_ms - kernel_ms)
            .with("time_source", 0)
            .with("time_source_desc", "QUERY_PERFORMANCE_COUNTER")
            .with("virtual_machine_type", vm)
            .with("virtual_machine_type_desc", vm_desc)
            .with("softnuma_configuration", 0)
            .with("softnuma_configuration_desc", "OFF")
            .with("process_physical_affinity", format!("{{{{0,{:x}}}}}", mask(0, schedulers)))
            .with("sql_memory_model", 1)
            .with("sql_memory_model_desc", "CONVENTIONAL")
            .with("socket_count", sockets)
            .with("cores_per_socket", schedulers / sockets.max(1))
            .with("numa_node_count", sockets)
            .with("container_type", 0)
            .with("container_type_desc", "NONE"),
    ]
}

/// sys.dm_os_host_info.
pub fn host_info(source: Source<'_>) -> Vec<Record> {
    if properties::is_on_linux(source.instance) {
        let (distribution, release) = properties::LINUX;
        return vec![
            Record::new()
                .with("host_platform", "Linux")
                .with("host_distribution", distribution)
                .with("host_release", release)
                .with("host_service_pack_level", "")
                .with("host_sku", Datum::Null)
                .with("os_language_version", 0)
                .with("host_architecture", "X64"),
        ];
    }
    vec![
        Record::new()
            .with("host_platform", "Windows")
            .with("host_distribution", source.instance.version_data().windows.distribution)
            .with("host_release", "10.0")
            .with("host_sku", 7)
            .with("os_language_version", 1_033)
            .with("host_architecture", "X64"),
    ]
}

/// The scheduler monitor writes a record a minute and keeps 256.
const RECORD_MICROS: i64 = 60_000_000;
const RECORDS: i64 = 256;

/// sys.dm_os_ring_buffers: the scheduler monitor.
pub fn ring_buffers(source: Source<'_>) -> Vec<Record> {
    let machine = source.instance.truth().machine;
    let up = source.uptime_micros();
    let offset = source.now.monotonic - up;
    let machine_lead = source.machine_uptime_micros() - up;
    let last = up / RECORD_MICROS;
    let rows = ((last - RECORDS).max(0) + 1..=last).map(|id| {
        let at = id * RECORD_MICROS;
        let begin = offset + at - RECORD_MICROS;
        let load = &source.state.load;
        let busy = load.busy_micros(begin + RECORD_MICROS).saturating_sub(load.busy_micros(begin)) as i64;
        let percent = (busy * i64::from(machine.loaded_cpu_percent())
            + (RECORD_MICROS - busy).max(0) * i64::from(machine.idle_cpu_percent))
            / RECORD_MICROS;
        let idle = 100 - percent - 1;
        let ticks = (at + machine_lead) / 1_000;
        let record = format!(
            "<Record id = \"{id}\" type =\"RING_BUFFER_SCHEDULER_MONITOR\" time =\"{ticks}\"><SchedulerMonitorEvent><SystemHealth><ProcessUtilization>{percent}</ProcessUtilization><SystemIdle>{idle}</SystemIdle><UserModeTime>0</UserModeTime><KernelModeTime>0</KernelModeTime><PageFaults>0</PageFaults><WorkingSetDelta>0</WorkingSetDelta><MemoryUtilization>100</MemoryUtilization></SystemHealth></SchedulerMonitorEvent></Record>"
        );
        Record::new()
            .with("ring_buffer_address", address(0x0000_01f4_0800_0040))
            .with("ring_buffer_type", "RING_BUFFER_SCHEDULER_MONITOR")
            .with("timestamp", ticks)
            .with("record", record)
    });
    rows.collect()
}

/// sys.dm_os_loaded_modules.
pub fn loaded_modules(source: Source<'_>) -> Vec<Record> {
    // Assumed: under Linux the engine's files lie in the folder that its layer below shows it.
    let linux = properties::is_on_linux(source.instance);
    let path = |module: &Module| {
        let of_windows = module.path.starts_with(r"C:\Windows");
        if linux && !of_windows { format!(r"C:\binn\{}", module.file) } else { module.path.clone() }
    };
    let rows = source.instance.truth().stacks.modules().iter().map(|module| {
        Record::new()
            .with("base_address", address(module.base))
            .with("file_version", module.file_version.as_str())
            .with("product_version", module.product_version.as_str())
            .with("debug", false)
            .with("patched", false)
            .with("prerelease", false)
            .with("private_build", false)
            .with("special_build", false)
            .with("language", 67_699_721)
            .with("company", module.company)
            .with("description", module.description)
            .with("name", path(module))
    });
    rows.collect()
}

/// sys.dm_server_services: the engine's.
pub fn services(source: Source<'_>) -> Vec<Record> {
    let version = source.instance.version_data();
    vec![
        Record::new()
            .with("servicename", "SQL Server (MSSQLSERVER)")
            .with("startup_type", 2)
            .with("startup_type_desc", "Automatic")
            .with("status", 4)
            .with("status_desc", "Running")
            .with("process_id", 4_212)
            .with("last_startup_time", time(source.state.process.started.utc))
            .with("service_account", "NT Service\\MSSQLSERVER")
            .with(
                "filename",
                format!(
                    "\"C:\\Program Files\\Microsoft SQL Server\\{}.MSSQLSERVER\\MSSQL\\Binn\\sqlservr.exe\" -sMSSQLSERVER",
                    version.folder
                ),
            )
            .with("is_clustered", "N")
            .with("instant_file_initialization_enabled", "Y"),
    ]
}
