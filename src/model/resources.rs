//! Amounts of what nodes have and pods ask for.

use std::sync::{Arc, LazyLock};

use super::Name;
use super::label_syntax::is_label_key;

/// What a pod asks for, or a node has to give.
///
/// Sums wrap around like kube-scheduler's, so that what was added can always be taken away again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Thousandths of a CPU.
    pub milli_cpu: i64,
    /// Bytes of memory.
    pub memory: i64,
    /// Bytes of local disk.
    pub ephemeral_storage: i64,
    /// Everything else by name, sorted, without zeros.
    scalars: Box<[(Name, i64)]>,
}

/// What is taken of a node: the requests of the pods on it, and their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The sum of their requests.
    pub resources: Resources,
    /// How many they are.
    pub pods: i64,
}

/// One resource that pods request and nodes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension<'a> {
    /// Thousandths of a CPU.
    Cpu,
    /// Bytes of memory.
    Memory,
    /// Bytes of local disk.
    EphemeralStorage,
    /// Any other, by name.
    Scalar(&'a Name),
}

impl Dimension<'_> {
    /// The name that Kubernetes gives it.
    pub fn name(self) -> Name {
        match self {
            Dimension::Cpu => Name::from("cpu"),
            Dimension::Memory => Name::from("memory"),
            Dimension::EphemeralStorage => Name::from("ephemeral-storage"),
            Dimension::Scalar(name) => name.clone(),
        }
    }
}

impl Resources {
    /// Adds up amounts given by name. A name that is given twice counts twice.
    pub fn new(
        milli_cpu: i64,
        memory: i64,
        ephemeral_storage: i64,
        scalars: impl IntoIterator<Item = (Name, i64)>,
    ) -> Self {
        let mut sum = Self { milli_cpu, memory, ephemeral_storage, scalars: Box::default() };
        let mut given: Vec<_> = scalars.into_iter().filter(|(_, amount)| *amount != 0).collect();
        given.sort_by(|a, b| a.0.cmp(&b.0));
        sum.combine(&given, 1);
        sum
    }

    /// Nothing at all, one copy for everybody.
    pub fn nothing() -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Resources>> = LazyLock::new(Arc::default);
        NOTHING.clone()
    }

    /// Whether all amounts are zero.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The amount of any other resource than the three.
    pub fn scalar(&self, name: &str) -> i64 {
        self.scalars.binary_search_by(|(known, _)| (**known).cmp(name)).map_or(0, |at| self.scalars[at].1)
    }

    /// The one list of dimensions: the three that are always there, and the others that are named here.
    pub fn dimensions(&self) -> impl Iterator<Item = (Dimension<'_>, i64)> {
        let always = [
            (Dimension::Cpu, self.milli_cpu),
            (Dimension::Memory, self.memory),
            (Dimension::EphemeralStorage, self.ephemeral_storage),
        ];
        let scalars = self.scalars.iter().map(|(name, amount)| (Dimension::Scalar(name), *amount));
        always.into_iter().chain(scalars)
    }

    /// The amount of one dimension.
    pub fn amount(&self, dimension: Dimension<'_>) -> i64 {
        match dimension {
            Dimension::Cpu => self.milli_cpu,
            Dimension::Memory => self.memory,
            Dimension::EphemeralStorage => self.ephemeral_storage,
            // Names are shared, so that mostly comparing addresses is enough.
            Dimension::Scalar(name) => {
                match self.scalars.iter().find(|(known, _)| Arc::ptr_eq(known, name)) {
                    Some((_, amount)) => *amount,
                    None => self.scalar(name),
                }
            }
        }
    }

    /// All other resources, by name.
    pub fn scalars(&self) -> impl Iterator<Item = (&Name, i64)> {
        self.scalars.iter().map(|(name, amount)| (name, *amount))
    }

    /// Adds these.
    pub fn add(&mut self, other: &Self) {
        self.accumulate(other, 1);
    }

    /// Takes these away.
    pub fn subtract(&mut self, other: &Self) {
        self.accumulate(other, -1);
    }

    /// By how much these exceed others.
    fn beyond(&self, others: &Self) -> Self {
        let beyond = |dimension| self.amount(dimension).saturating_sub(others.amount(dimension)).max(0);
        Self::new(
            beyond(Dimension::Cpu),
            beyond(Dimension::Memory),
            beyond(Dimension::EphemeralStorage),
            self.scalars.iter().map(|(name, _)| (name.clone(), beyond(Dimension::Scalar(name)))),
        )
    }

    fn accumulate(&mut self, other: &Self, times: i64) {
        let add = |to: &mut i64, amount: i64| *to = to.wrapping_add(amount.wrapping_mul(times));
        add(&mut self.milli_cpu, other.milli_cpu);
        add(&mut self.memory, other.memory);
        add(&mut self.ephemeral_storage, other.ephemeral_storage);
        self.combine(&other.scalars, times);
    }

    /// Names are looked for in place first: the pods of a host mostly ask for the same few.
    fn combine(&mut self, others: &[(Name, i64)], times: i64) {
        let mut leaves_zero = false;
        let mut unknown = Vec::new();
        for (name, amount) in others {
            let amount = amount.wrapping_mul(times);
            match self.scalars.binary_search_by(|(known, _)| known.cmp(name)) {
                Ok(at) => {
                    let sum = &mut self.scalars[at].1;
                    *sum = sum.wrapping_add(amount);
                    leaves_zero |= *sum == 0;
                }
                Err(_) => unknown.push((name.clone(), amount)),
            }
        }
        if leaves_zero || !unknown.is_empty() {
            let mut scalars = std::mem::take(&mut self.scalars).into_vec();
            scalars.extend(unknown);
            scalars.sort_by(|a, b| a.0.cmp(&b.0));
            scalars.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    earlier.1 = earlier.1.wrapping_add(later.1);
                }
                same
            });
            scalars.retain(|(_, amount)| *amount != 0);
            self.scalars = scalars.into();
        }
    }
}

impl Used {
    /// One pod more, with these requests.
    pub fn arrive(&mut self, requests: &Resources) {
        self.resources.add(requests);
        self.pods += 1;
    }

    /// One pod less.
    pub fn leave(&mut self, requests: &Resources) {
        self.resources.subtract(requests);
        self.pods -= 1;
    }

    /// Slots more, as far as they exceed what counts already and will make way for them.
    pub fn reserve(&mut self, slots: &Self, making_way: &Self) {
        if making_way.pods == 0 {
            self.resources.add(&slots.resources);
        } else {
            self.resources.add(&slots.resources.beyond(&making_way.resources));
        }
        self.pods += (slots.pods - making_way.pods).max(0);
    }
}

/// Whether kube-scheduler looks at a resource of this name, beside CPU, memory, local disk and the number of pods:
/// extended resources, huge pages, volumes to attach, and whatever has Kubernetes' own domain in its name.
pub fn is_scalar(name: &str) -> bool {
    let native = name.contains("kubernetes.io/");
    let extended = || {
        // Names that quotas could not tell apart from their own are none.
        name.contains('/') && !name.starts_with("requests.") && is_label_key(&format!("requests.{name}"))
    };
    native || name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") || extended()
}

#[cfg(test)]
mod tests {
    use super::{Resources, Used, is_scalar};
    use crate::model::Name;

    fn of(milli_cpu: i64, scalars: &[(&str, i64)]) -> Resources {
        Resources::new(milli_cpu, 0, 0, scalars.iter().map(|(name, amount)| (Name::from(*name), *amount)))
    }

    #[test]
    fn whatever_arrives_can_leave_again_in_any_order() {
        let pods = [
            of(100, &[("a.com/gpu", 2)]),
            of(0, &[("a.com/nic", 1), ("a.com/gpu", 1)]),
            of(i64::MAX, &[("b.com/x", i64::MAX)]),
            of(200, &[("b.com/x", 5)]),
            Resources::default(),
        ];
        let mut used = Used::default();
        for pod in &pods {
            used.arrive(pod);
        }
        assert_eq!((used.pods, used.resources.scalar("a.com/gpu")), (5, 3));
        assert_eq!(used.resources.scalars().map(|(name, _)| &**name).collect::<Vec<_>>().len(), 3);
        for at in [2, 0, 4, 3, 1] {
            used.leave(&pods[at]);
        }
        assert_eq!(used, Used::default(), "and leaves no zeros behind");
        assert!(used.resources.is_nothing());
    }

    #[test]
    fn equal_amounts_are_equal_however_they_were_given() {
        assert_eq!(of(1, &[("b", 1), ("a", 2), ("b", 3), ("c", 0)]), of(1, &[("a", 2), ("b", 4)]));
        assert_eq!(of(0, &[("a", 1), ("a", -1)]), Resources::default());
    }

    #[test]
    fn which_names_count() {
        for name in [
            "example.com/gpu",
            "hugepages-2Mi",
            "hugepages-",
            "attachable-volumes-csi-x",
            "kubernetes.io/batteries",
            "x.kubernetes.io/y",
            "-/kubernetes.io/-",
        ] {
            assert!(is_scalar(name), "{name}");
        }
        for name in ["cpu", "pods", "gpu", "requests.example.com/gpu", "Example.com/gpu", "a/b/c", "a/", ""] {
            assert!(!is_scalar(name), "{name}");
        }
    }
}
