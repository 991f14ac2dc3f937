# SPDX-License-Identifier: MIT
"""What networks are made of: the operators of `tessera.ops` that are meant for them."""
from .ops import (add_layer_norm, add_rms_norm, attention, avg_pool, batch_norm, batch_norm_train, bce_with_logits_loss, conv, conv_transpose, cross_entropy,
                  dropout, elu, embedding, embedding_bag, geglu, gelu, gelu_tanh, group_norm, gru, huber_loss, instance_norm, kl_div_loss, l1_loss,
                  layer_norm, leaky_relu, linear, log_softmax, lp_pool, lstm, max_pool, mse_loss, nll_loss, one_hot, relu, resize, rms_norm, rnn, rope,
                  sample, sigmoid, silu, softmax, softplus, swiglu)

__all__ = [
    "add_layer_norm", "add_rms_norm", "attention", "avg_pool", "batch_norm", "batch_norm_train", "bce_with_logits_loss", "conv", "conv_transpose",
    "cross_entropy", "dropout", "elu", "embedding", "embedding_bag", "geglu", "gelu", "gelu_tanh", "group_norm", "gru", "huber_loss", "instance_norm",
    "kl_div_loss", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "lp_pool", "lstm", "max_pool", "mse_loss", "nll_loss", "one_hot",
    "relu", "resize", "rms_norm", "rnn", "rope", "sample", "sigmoid", "silu", "softmax", "softplus", "swiglu",
]
