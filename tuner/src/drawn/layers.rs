//! The linear layers of common models: columns of the output and the reduced dimension, as their published configurations
//! have them.

/// A linear layer: `C[m, n] = x[m, k] · W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Whose.
    pub model: &'static str,
    /// Columns of the output.
    pub n: u32,
    /// The reduced dimension.
    pub k: u32,
}

const fn layer(model: &'static str, n: u32, k: u32) -> Layer {
    Layer { model, n, k }
}

/// Layers whose rows all begin at multiples of 16 bytes in 16-bit types.
pub const ALIGNED: &[Layer] = &[
    layer("Llama 3.1 8B, queries, keys and values", 6144, 4096),
    layer("Llama 3.1 8B, attention output", 4096, 4096),
    layer("Llama 3.1 8B, gate", 14336, 4096),
    layer("Llama 3.1 8B, gate and up", 28672, 4096),
    layer("Llama 3.1 8B, down", 4096, 14336),
    layer("Llama 3.1 70B, queries, keys and values", 10240, 8192),
    layer("Llama 3.1 70B, attention output", 8192, 8192),
    layer("Llama 3.1 70B, gate", 28672, 8192),
    layer("Llama 3.1 70B, down", 8192, 28672),
    layer("Llama 3.2 1B, queries, keys and values", 3072, 2048),
    layer("Llama 3.2 1B, attention output", 2048, 2048),
    layer("Llama 3.2 1B, gate", 8192, 2048),
    layer("Llama 3.2 1B, down", 2048, 8192),
    layer("Qwen2.5 7B, queries, keys and values", 4608, 3584),
    layer("Qwen2.5 7B, attention output", 3584, 3584),
    layer("Qwen2.5 7B, gate", 18944, 3584),
    layer("Qwen2.5 7B, down", 3584, 18944),
    layer("Qwen2.5 14B, gate", 13824, 5120),
    layer("Qwen2.5 14B, down", 5120, 13824),
    layer("Qwen2.5 14B, attention output", 5120, 5120),
    layer("Gemma 2 9B, gate", 14336, 3584),
    layer("Gemma 2 9B, down", 3584, 14336),
    layer("Phi 3 mini, queries, keys and values", 9216, 3072),
    layer("Phi 3 mini, attention output", 3072, 3072),
    layer("Phi 3 mini, gate and up", 16384, 3072),
    layer("Phi 3 mini, down", 3072, 8192),
    layer("DeepSeek V3, expert, gate and up", 4096, 7168),
    layer("DeepSeek V3, expert, down", 7168, 2048),
    layer("DeepSeek V3, attention output", 7168, 16384),
    layer("GPT-2 small, queries, keys and values", 2304, 768),
    layer("GPT-2 small, attention output", 768, 768),
    layer("GPT-2 small, up", 3072, 768),
    layer("GPT-2 small, down", 768, 3072),
    layer("BERT large, queries, keys and values", 3072, 1024),
    layer("BERT large, up", 4096, 1024),
    layer("BERT large, down", 1024, 4096),
    layer("ViT-L, attention output", 1024, 1024),
    layer("ViT-H, queries, keys and values", 3840, 1280),
    layer("ViT-H, attention output", 1280, 1280),
    layer("ViT-H, up", 5120, 1280),
    layer("ViT-H, down", 1280, 5120),
    layer("SigLIP so400m, attention output", 1152, 1152),
    layer("SigLIP so400m, up", 4304, 1152),
    layer("SigLIP so400m, down", 1152, 4304),
    layer("ViT-g, up", 6144, 1408),
    layer("ViT-g, down", 1408, 6144),
    layer("ResNet-50, classifier", 1000, 2048),
    layer("ConvNeXt-L, up", 6144, 1536),
    layer("ConvNeXt-L, down", 1536, 6144),
];

/// Layers with a dimension that is no multiple of eight.
pub const ODD: &[Layer] = &[
    layer("GPT-2 small, vocabulary", 50257, 768),
    layer("Llama 2 7B, vocabulary and a padding token", 32001, 4096),
    layer("Whisper large v3, vocabulary", 51866, 1280),
    layer("OPT 1.3B, vocabulary", 50266, 2048),
    layer("MobileNetV2, classifier with a background class", 1001, 1280),
    layer("Inception v3, classifier with a background class", 1001, 2048),
    layer("ImageNet-21k classifier", 21841, 1024),
    layer("SigLIP so400m, patches of 14x14", 1152, 588),
    layer("ResNet-50, first convolution", 64, 147),
    layer("MobileNetV2, first convolution", 32, 27),
];
