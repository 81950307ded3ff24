//! What the operating system knows of this process, under the names that all Prometheus clients use.
//!
//! Read from `/proc/self` when the page is rendered, which costs some tens of microseconds. Where there is no such thing, there are
//! no such metrics.

use std::fs;

use prometheus::{Counter, Error, Gauge, Opts};

/// Ticks per second in `/proc/self/stat`, on every architecture that Linux runs Berth on.
const TICKS: f64 = 100.0;

/// Metrics of this process.
#[derive(Clone, Debug)]
pub(super) struct ProcessMetrics {
    cpu_seconds: Counter,
    resident_bytes: Gauge,
    virtual_bytes: Gauge,
    start_time: Gauge,
    open_fds: Gauge,
    max_fds: Gauge,
    threads: Gauge,
}

impl ProcessMetrics {
    /// Registers them; `None` where nothing can be read.
    pub(super) fn register(registry: &prometheus::Registry) -> Result<Option<Self>, Error> {
        if Usage::read().is_none() {
            return Ok(None);
        }
        let gauge = |name: &str, help: &str| {
            let gauge = Gauge::with_opts(Opts::new(name, help))?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, Error>(gauge)
        };
        let cpu = Opts::new("process_cpu_seconds_total", "User and system CPU time spent, in seconds.");
        let cpu_seconds = Counter::with_opts(cpu)?;
        registry.register(Box::new(cpu_seconds.clone()))?;
        Ok(Some(Self {
            cpu_seconds,
            resident_bytes: gauge("process_resident_memory_bytes", "Resident memory, in bytes.")?,
            virtual_bytes: gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.")?,
            start_time: gauge(
                "process_start_time_seconds",
                "When the process began, in seconds since the Unix epoch.",
            )?,
            open_fds: gauge("process_open_fds", "Open file descriptors.")?,
            max_fds: gauge("process_max_fds", "Most file descriptors that may be open.")?,
            threads: gauge("process_threads", "Threads.")?,
        }))
    }

    /// Shows how things are now.
    pub(super) fn refresh(&self) {
        let Some(usage) = Usage::read() else { return };
        self.cpu_seconds.inc_by((usage.cpu_seconds - self.cpu_seconds.get()).max(0.0));
        for (gauge, value) in [
            (&self.resident_bytes, usage.resident_bytes),
            (&self.virtual_bytes, usage.virtual_bytes),
            (&self.start_time, usage.start_time),
            (&self.open_fds, usage.open_fds),
            (&self.max_fds, usage.max_fds),
            (&self.threads, usage.threads),
        ] {
            gauge.set(value);
        }
    }
}

#[derive(Debug, PartialEq)]
struct Usage {
    cpu_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    start_time: f64,
    open_fds: f64,
    max_fds: f64,
    threads: f64,
}

impl Usage {
    fn read() -> Option<Self> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{file}")).ok();
        // The one that reads the directory has it open itself.
        let open_fds = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64;
        let system = read("stat")?;
        Self::parse(&read("self/stat")?, &read("self/status")?, &read("self/limits")?, &system, open_fds)
    }

    fn parse(stat: &str, status: &str, limits: &str, system: &str, open_fds: f64) -> Option<Self> {
        // The program's name comes second, in brackets, and may itself hold blanks and brackets.
        let (_, stat) = stat.rsplit_once(')')?;
        let stat: Vec<f64> = stat.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
        // The fields are numbered from 1 on in the manual, and these begin with the third.
        let ticks = |field: usize| stat.get(field - 3).map(|ticks| ticks / TICKS);
        let kibibytes = |name: &str| number_after(status, name).map(|kibibytes| kibibytes * 1024.0);
        Some(Self {
            cpu_seconds: ticks(14)? + ticks(15)?,
            resident_bytes: kibibytes("VmRSS:")?,
            virtual_bytes: kibibytes("VmSize:")?,
            start_time: number_after(system, "btime")? + ticks(22)?,
            open_fds,
            // `unlimited` is no number.
            max_fds: number_after(limits, "Max open files").unwrap_or(f64::INFINITY),
            threads: number_after(status, "Threads:")?,
        })
    }
}

/// The number that follows a name at the beginning of a line.
fn number_after(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn what_the_kernel_writes_is_understood() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 9 0 4200 1048576 25 18446744073709551615";
        let status = "Name:\ta\nVmSize:\t    1024 kB\nVmRSS:\t     100 kB\nThreads:\t9\n";
        let limits = "Limit                     Soft Limit           Hard Limit\nMax open files            1024                 4096    files\n";
        let system = "cpu  1 2 3\nbtime 1000\n";
        let expected = Usage {
            cpu_seconds: 3.0,
            resident_bytes: 102_400.0,
            virtual_bytes: 1_048_576.0,
            start_time: 1042.0,
            open_fds: 5.0,
            max_fds: 1024.0,
            threads: 9.0,
        };
        assert_eq!(Usage::parse(stat, status, limits, system, 5.0), Some(expected));
        assert_eq!(Usage::parse("", status, limits, system, 5.0), None);
    }
}
