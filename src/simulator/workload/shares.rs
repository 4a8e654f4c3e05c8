//! Owns sharing totals out to the last unit, in proportions that the seed moves.

/// Parts of `total` by weight; they add up to it.
pub fn split(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u64 = weights.iter().sum::<u64>().max(1);
    let mut reached = 0;
    let mut given = 0;
    weights
        .iter()
        .map(|weight| {
            reached += weight;
            let upto = (u128::from(total) * u128::from(reached) / u128::from(sum)) as u64;
            let part = upto - given;
            given = upto;
            part
        })
        .collect()
}

/// Moves up to a twentieth of each weight, by the seed.
pub fn seeded_weights(weights: impl Iterator<Item = u64>, random: &mut fastrand::Rng) -> Vec<u64> {
    weights.map(|weight| 20 * weight + random.u64(0..=2 * weight) - weight).collect()
}

#[cfg(test)]
mod tests {
    use super::split;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up(total in any::<u32>(), weights in proptest::collection::vec(1_u64..100_000, 1..60)) {
            let parts = split(u64::from(total), &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), u64::from(total));
            prop_assert_eq!(parts.len(), weights.len());
        }
    }
}
