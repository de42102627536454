//! Similarity of embeddings as they are stored: bytes with a scale, and their sign bits. Rules of their queries on every
//! backend.

use super::EmbeddingBatch;

/// Maximum number of nodes, the nearest by sign bits, whose filter is checked.
pub(super) const MAX_CHECKED_NODES: usize = 20_000;
/// Number of passing nodes, relative to the wanted ones, whose vectors are compared.
pub(super) const COMPARED_PER_RESULT: usize = 3;

/// The batch of the next texts, newer or older than the `seen` range. `None` if there are none.
pub(super) fn batch(seen: Option<(i64, i64)>, mut texts: Vec<(u64, String)>) -> Option<EmbeddingBatch> {
    let nodes = texts.iter().map(|(node, _)| *node);
    let (low, high) = nodes.clone().min().zip(nodes.max())?;
    // Numbers between two nodes belong to no node.
    let range = if seen.is_some_and(|(_, last)| high > last.unsigned_abs()) {
        (seen.map_or(low, |(_, last)| last.unsigned_abs() + 1), high)
    } else {
        (low, seen.map_or(high, |(first, _)| first.unsigned_abs() - 1))
    };
    texts.retain(|(_, text)| !text.is_empty());
    Some(EmbeddingBatch { range, texts })
}

/// Sorts nodes by their similarity, descending and then the newest first; drops those without a vector.
pub(super) fn by_similarity<N: Copy + Ord>(nodes: Vec<N>, similarities: Vec<Option<f64>>) -> Vec<N> {
    let mut found: Vec<(N, f64)> =
        nodes.into_iter().zip(similarities).filter_map(|(node, near)| Some((node, near?))).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    found.into_iter().map(|(node, _)| node).collect()
}

/// Packs a vector: a scale and a byte for each number.
#[allow(clippy::cast_possible_truncation)] // a number from -127 to 127
fn pack(vector: &[f32]) -> Vec<u8> {
    let most = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
    let scale = (most / 127.0).max(f32::MIN_POSITIVE);
    let numbers = vector.iter().flat_map(|number| ((number / scale).round() as i8).to_le_bytes());
    scale.to_le_bytes().into_iter().chain(numbers).collect()
}

/// Packs a vector, and returns the sign bits of the numbers as they are stored: a small one is stored as 0.
pub(super) fn pack_with_code(vector: &[f32]) -> (Vec<u8>, Vec<u8>) {
    let packed = pack(vector);
    let code = code(&unpack(&packed));
    (packed, code)
}

/// Unpacks a vector.
pub(super) fn unpack(bytes: &[u8]) -> Vec<f32> {
    let Some((scale, numbers)) = bytes.split_first_chunk() else { return Vec::new() };
    let scale = f32::from_le_bytes(*scale);
    numbers.iter().map(|number| scale * f32::from(i8::from_le_bytes([*number]))).collect()
}

/// The dot product of a packed vector and a query of the same length.
pub(super) fn similarity(bytes: &[u8], query: &[f32]) -> Option<f64> {
    let (scale, numbers) = bytes.split_first_chunk()?;
    let sum: f32 = numbers.iter().zip(query).map(|(a, b)| f32::from(i8::from_le_bytes([*a])) * b).sum();
    (numbers.len() == query.len()).then(|| f64::from(sum * f32::from_le_bytes(*scale)))
}

/// The sign bits of a vector, in whole groups of 64.
pub(super) fn code(vector: &[f32]) -> Vec<u8> {
    let word = |numbers: &[f32]| {
        numbers.iter().enumerate().fold(0_u64, |word, (at, number)| word | u64::from(*number > 0.0) << at)
    };
    vector.chunks(64).flat_map(|numbers| word(numbers).to_le_bytes()).collect()
}

/// The groups of 64 sign bits.
pub(super) fn words(code: &[u8]) -> Vec<u64> {
    code.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_vector_is_similar_to_itself() {
        let vector: Vec<f32> = (0..100_u8).map(|n| (f32::from(n) * 0.7).sin() / 7.1).collect();
        let length: f32 = vector.iter().map(|x| x * x).sum();
        let found = similarity(&pack(&vector), &vector).unwrap();
        assert!((found - f64::from(length)).abs() < 0.01, "{found} {length}");
        assert_eq!(code(&unpack(&pack(&vector))).len(), 16);
        assert_eq!(similarity(&pack(&vector), &vector[1..]), None);
        assert_eq!((similarity(&[], &[]), unpack(&[1])), (None, Vec::new()));
    }
}
