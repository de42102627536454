//! Reader of GGUF files: metadata, and matrices in the form used for multiplication.
//!
//! A matrix keeps its quantization if `candle` has a fast product for it. The older kinds (`Q4_1`, `Q5_0`, `Q5_1`) have a
//! slow product only and are converted to `Q8_0` at load. For a small model, this takes a tenth of a second and some memory.

use std::{fs::File, io::BufReader, path::Path, sync::Arc};

use candle_core::{
    Device, Error, Result, Tensor, bail,
    quantized::{
        GgmlDType, QMatMul, QTensor,
        gguf_file::{Content, Value},
    },
};
use candle_nn::Module as _;

/// Number of rows from which a quantized matrix is dequantized for a product, because that is faster than the quantized
/// product.
const MIN_DENSE_ROWS: usize = 24;

/// An open GGUF file.
pub(super) struct Gguf {
    content: Content,
    file: BufReader<File>,
}

impl Gguf {
    /// Opens a file and reads its metadata, but not the matrices.
    pub(super) fn open(path: &Path) -> Result<Gguf> {
        let mut file = BufReader::new(File::open(path)?);
        let content = Content::read(&mut file)?;
        Ok(Gguf { content, file })
    }

    /// Returns a string of the metadata.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.content.metadata.get(key)?.to_string().ok().map(String::as_str)
    }

    /// Returns a non-negative integer of the metadata.
    pub(super) fn number(&self, key: &str) -> Option<usize> {
        number(self.content.metadata.get(key)?)
    }

    /// Returns a positive integer of the metadata, or an error if there is none.
    pub(super) fn required_number(&self, key: &str) -> Result<usize> {
        match self.number(key) {
            Some(number) if number > 0 => Ok(number),
            _ => bail!("{key} is missing"),
        }
    }

    /// Returns a floating-point number of the metadata.
    pub(super) fn float(&self, key: &str) -> Option<f64> {
        match self.content.metadata.get(key)? {
            Value::F32(number) => Some(f64::from(*number)),
            Value::F64(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a boolean of the metadata.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.content.metadata.get(key)?.to_bool().ok()
    }

    /// Returns a list of strings of the metadata, or an error if there is none.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&str>> {
        match self.content.metadata.get(key) {
            Some(Value::Array(values)) => values.iter().map(|value| value.to_string().map(String::as_str)).collect(),
            _ => bail!("the list {key} is missing"),
        }
    }

    /// Returns a list of numbers of the metadata; empty if there is none.
    pub(super) fn numbers(&self, key: &str) -> Vec<f32> {
        let Some(Value::Array(values)) = self.content.metadata.get(key) else { return Vec::new() };
        #[allow(clippy::cast_precision_loss)] // token types are below ten
        let read = |value: &Value| match value {
            Value::F32(number) => *number,
            other => number(other).unwrap_or(0) as f32,
        };
        values.iter().map(read).collect()
    }

    /// Returns whether the file has a matrix of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    /// Loads a matrix for multiplication.
    pub(super) fn matrix(&mut self, name: &str) -> Result<Matrix> {
        let read = self.content.tensor(&mut self.file, name, &Device::Cpu)?;
        let read = match read.dtype() {
            GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1 => {
                QTensor::quantize(&read.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)?
            }
            _ => read,
        };
        read.shape().dims2()?;
        Ok(Matrix(QMatMul::from_arc(Arc::new(read))?))
    }

    /// Loads a vector as `f32`.
    pub(super) fn vector(&mut self, name: &str) -> Result<Tensor> {
        self.content.tensor(&mut self.file, name, &Device::Cpu)?.dequantize(&Device::Cpu)
    }
}

fn number(value: &Value) -> Option<usize> {
    match value {
        Value::I8(_) | Value::I16(_) | Value::I32(_) | Value::I64(_) => {
            let signed = match value {
                Value::I8(number) => i64::from(*number),
                Value::I16(number) => i64::from(*number),
                Value::I32(number) => i64::from(*number),
                Value::I64(number) => *number,
                _ => return None,
            };
            usize::try_from(signed).ok()
        }
        _ => value.to_u64().ok().and_then(|number| usize::try_from(number).ok()),
    }
}

/// A matrix of weights; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Matrix(QMatMul);

impl Matrix {
    /// Multiplies each row of `x` by the matrix.
    pub(super) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        match &self.0 {
            QMatMul::QTensor(packed) if x.dim(0)? >= MIN_DENSE_ROWS => x.matmul(&packed.dequantize(&Device::Cpu)?.t()?),
            product => product.forward(x),
        }
    }

    /// Returns the rows with these indices, as an embedding lookup does.
    pub(super) fn rows(&self, numbers: &[u32]) -> Result<Tensor> {
        self.0.embedding(&Tensor::new(numbers, &Device::Cpu)?)
    }
}

/// Returns the message of an error, without the backtrace that `candle` adds if the environment requests it.
pub(super) fn error_message(error: &Error) -> String {
    match error {
        Error::WithBacktrace { inner, .. } => error_message(inner),
        other => other.to_string(),
    }
}
