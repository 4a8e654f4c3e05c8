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

/// Two ways to part the same line: for each piece the numbers of both parts that it belongs to, and its length.
pub fn overlaps(left: &[u64], right: &[u64]) -> Vec<(usize, usize, u64)> {
    let mut pieces = Vec::new();
    let mut right = right.iter().copied().enumerate();
    let mut current = right.next();
    for (of_left, length) in left.iter().copied().enumerate() {
        let mut open = length;
        while let Some((of_right, rest)) = current {
            let piece = open.min(rest);
            if piece > 0 {
                pieces.push((of_left, of_right, piece));
            }
            open -= piece;
            if piece < rest {
                current = Some((of_right, rest - piece));
                break;
            }
            current = right.next();
        }
    }
    pieces
}

/// Moves up to a twentieth of each weight, by the seed.
pub fn seeded_weights(weights: impl Iterator<Item = u64>, random: &mut fastrand::Rng) -> Vec<u64> {
    weights.map(|weight| 20 * weight + random.u64(0..=2 * weight) - weight).collect()
}

#[cfg(test)]
mod tests {
    use super::{overlaps, split};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up(total in any::<u32>(), weights in proptest::collection::vec(1_u64..100_000, 1..60)) {
            let parts = split(u64::from(total), &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), u64::from(total));
            prop_assert_eq!(parts.len(), weights.len());
        }

        #[test]
        fn pieces_add_up_to_both_parts(
            total in any::<u16>(), left in proptest::collection::vec(1_u64..50, 1..40),
            right in proptest::collection::vec(1_u64..50, 1..40),
        ) {
            let (left, right) = (split(u64::from(total), &left), split(u64::from(total), &right));
            let pieces = overlaps(&left, &right);
            let (mut by_left, mut by_right) = (vec![0; left.len()], vec![0; right.len()]);
            for (of_left, of_right, length) in &pieces {
                by_left[*of_left] += length;
                by_right[*of_right] += length;
            }
            prop_assert_eq!((by_left, by_right), (left.clone(), right.clone()));
            prop_assert!(pieces.len() < left.len() + right.len());
        }
    }
}
