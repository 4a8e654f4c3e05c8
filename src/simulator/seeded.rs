//! Owns what makes the simulated server the same for the same seed, and different for another.

/// A number that depends on all the parts and their order, the same on every platform (FNV-1a, 64 bit).
pub fn hash(parts: &[&str]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    // FNV leaves the high bits of short texts weak; one multiply-shift round spreads them.
    state ^= state >> 32;
    state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state ^ (state >> 29)
}

/// A GUID that depends on all the parts.
pub fn guid(parts: &[&str]) -> [u8; 16] {
    let mut second = vec!["guid"];
    second.extend(parts);
    let mut bytes = [0; 16];
    for (byte, value) in bytes.iter_mut().zip(hash(parts).to_be_bytes().into_iter().chain(hash(&second).to_be_bytes()))
    {
        *byte = value;
    }
    bytes
}

/// A GUID's text, in upper case.
pub fn guid_text(guid: [u8; 16]) -> String {
    let digits = format!("{:032X}", u128::from_be_bytes(guid));
    let mut text = String::with_capacity(36);
    for (index, digit) in digits.chars().enumerate() {
        if matches!(index, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(digit);
    }
    text
}

/// OBJECT_ID of a system view, by its name in lower case; negative, as those of the product's system objects are.
pub fn object_id(name: &str) -> i32 {
    -1 - (hash(&["object", name]) % 1_000_000_000) as i32
}

#[cfg(test)]
mod tests {
    use super::{guid, guid_text, hash};

    #[test]
    fn parts_and_their_order_matter() {
        assert_ne!(hash(&["a", "b"]), hash(&["ab"]));
        assert_ne!(hash(&["a", "b"]), hash(&["b", "a"]));
        assert_eq!(hash(&["a"]), hash(&["a"]));
        let text = guid_text(guid(&["x"]));
        assert_eq!(text.len(), 36);
        assert_eq!(guid_text([0x0F; 16]), "0F0F0F0F-0F0F-0F0F-0F0F-0F0F0F0F0F0F");
    }
}
