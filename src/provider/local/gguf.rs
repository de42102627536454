//! A GGUF file: what it says of its model, and its matrices in the form in which they are multiplied.
//!
//! A matrix stays as it is quantized where there is a fast product for that; the older kinds (`Q4_1`, `Q5_0`, `Q5_1`),
//! for which there is only a slow one, are made into `Q8_0` at load. That costs a tenth of a second for a small model
//! and some memory, and nothing in precision.

use std::{fs::File, io::BufReader, path::Path, sync::Arc};

use candle_core::{
    Device, Error, Result, Tensor, bail,
    quantized::{
        GgmlDType, QMatMul, QTensor,
        gguf_file::{Content, Value},
    },
};
use candle_nn::Module as _;

/// From how many rows on a quantized matrix is made dense for a product: unpacking it once then costs less than the
/// slower product.
const DENSE_FROM: usize = 24;

/// An open file.
pub(super) struct Gguf {
    content: Content,
    file: BufReader<File>,
}

impl Gguf {
    /// Opens a file and reads what it says of itself; not the matrices yet.
    pub(super) fn open(path: &Path) -> Result<Gguf> {
        let mut file = BufReader::new(File::open(path)?);
        let content = Content::read(&mut file)?;
        Ok(Gguf { content, file })
    }

    /// A text of the metadata.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.content.metadata.get(key)?.to_string().ok().map(String::as_str)
    }

    /// A number of the metadata that counts something.
    pub(super) fn number(&self, key: &str) -> Option<usize> {
        number(self.content.metadata.get(key)?)
    }

    /// A number of the metadata that there is no doing without.
    pub(super) fn needed(&self, key: &str) -> Result<usize> {
        match self.number(key) {
            Some(number) if number > 0 => Ok(number),
            _ => bail!("it does not say {key}"),
        }
    }

    /// A number of the metadata that measures something.
    pub(super) fn measure(&self, key: &str) -> Option<f64> {
        match self.content.metadata.get(key)? {
            Value::F32(number) => Some(f64::from(*number)),
            Value::F64(number) => Some(*number),
            _ => None,
        }
    }

    /// A yes or no of the metadata.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.content.metadata.get(key)?.to_bool().ok()
    }

    /// A list of texts of the metadata.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&str>> {
        match self.content.metadata.get(key) {
            Some(Value::Array(values)) => values.iter().map(|value| value.to_string().map(String::as_str)).collect(),
            _ => bail!("it has no list {key}"),
        }
    }

    /// A list of numbers of the metadata, empty if there is none.
    pub(super) fn numbers(&self, key: &str) -> Vec<f32> {
        let Some(Value::Array(values)) = self.content.metadata.get(key) else { return Vec::new() };
        #[allow(clippy::cast_precision_loss)] // kinds of tokens are below ten
        let read = |value: &Value| match value {
            Value::F32(number) => *number,
            other => number(other).unwrap_or(0) as f32,
        };
        values.iter().map(read).collect()
    }

    /// Whether there is a matrix of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    /// A matrix to multiply with.
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

    /// A list of plain numbers.
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

/// A matrix of weights; cheap to copy.
#[derive(Debug, Clone)]
pub(super) struct Matrix(QMatMul);

impl Matrix {
    /// Multiplies each row of `x` with it.
    pub(super) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        match &self.0 {
            QMatMul::QTensor(packed) if x.dim(0)? >= DENSE_FROM => x.matmul(&packed.dequantize(&Device::Cpu)?.t()?),
            product => product.forward(x),
        }
    }

    /// The rows of these numbers, as a table is looked up.
    pub(super) fn rows(&self, numbers: &[u32]) -> Result<Tensor> {
        self.0.embedding(&Tensor::new(numbers, &Device::Cpu)?)
    }
}

/// What an error says, without the trail of calls that `candle` adds where the environment asks for it.
pub(super) fn said(error: &Error) -> String {
    match error {
        Error::WithBacktrace { inner, .. } => said(inner),
        other => other.to_string(),
    }
}
