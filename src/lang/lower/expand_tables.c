// SPDX-License-Identifier: MIT
// Constants of the expansions. Made by bench/expand_fit.py; do not edit.
// clang-format off
#include "lang/lower/expand_build.h"

#define POLY(name) {name, sizeof name / sizeof name[0]}

static const double f32_exp[] = {0x1.6b9ce6p-10, 0x1.12256cp-7, 0x1.5556f2p-5, 0x1.5554b4p-3, 0x1.fffffep-2};
static const double f32_exp2[] = {0x1.417be2p-13, 0x1.5f093ap-10, 0x1.3b2ddp-7, 0x1.c6af7ap-5, 0x1.ebfbdcp-3, 0x1.62e43p-1};
static const double f32_log[] = {-0x1.38c9d8p-4, 0x1.055ecap-3, -0x1.0d8244p-3, 0x1.22d92ep-3, -0x1.54728ap-3, 0x1.99a01cp-3, -0x1.000226p-2, 0x1.555554p-2};
static const double f32_sin[] = {-0x1.995404p-13, 0x1.110778p-7, -0x1.555546p-3};
static const double f32_cos[] = {0x1.99e80cp-16, -0x1.6c0c28p-10, 0x1.55554ap-5};
static const double f32_tan[] = {0x1.1e8a68p-8, 0x1.9efbdp-14, 0x1.62c7dep-7, 0x1.5cc138p-6, 0x1.bad9bep-5, 0x1.110d9ep-3, 0x1.55556p-2};
static const double f32_asin[] = {0x1.595c92p-5, 0x1.8c3e28p-6, 0x1.747bbap-5, 0x1.330204p-4, 0x1.5555c8p-3};
static const double f32_atan[] = {-0x1.d35f54p-10, 0x1.6426fp-7, -0x1.fd7f68p-6, 0x1.da2a76p-5, -0x1.58092cp-4, 0x1.c08c5p-4, -0x1.242086p-3, 0x1.9991e4p-3, -0x1.55553ep-2};
static const double f32_sinh[] = {0x1.756c1ep-19, 0x1.a022bcp-13, 0x1.1110ep-7, 0x1.555556p-3};
static const double f32_tanh[] = {-0x1.828774p-8, 0x1.54c3c2p-6, -0x1.b89abap-5, 0x1.1109bep-3, -0x1.55553ep-2};
static const double f32_erf_near[] = {0x1.4771fcp-14, -0x1.a3515ep-11, 0x1.53f224p-8, -0x1.b7f71ap-6, 0x1.ce2ce6p-4, -0x1.81273ep-2, 0x1.06eba8p-3};
static const double f32_erf_far_0[] = {0x1.1e9f72p-17, -0x1.60b3e2p-13, 0x1.77d05cp-11, -0x1.d1fa4p-9, 0x1.0e01bp-6, 0x1.d8f624p-1, 0x1.1ac322p+2, 0x1.575b32p+2};
// 2^-29.4 on [0, 0.02944]
static const double f32_pow_rest[] = {
    0x1.1a780426ce074p-2, 0x1.48090ed1d1562p-2, 0x1.a617c696e98b7p-2, 0x1.2776c50332f19p-1,
};

// 2^-59.3 on [-0.3466, 0.3466]
static const double f64_exp[] = {
    0x1.1f7301a8efa5cp-29, 0x1.af4de6a36d4fcp-26, 0x1.27e4db653346ep-22, 0x1.71de0232f4775p-19, 0x1.a01a01a6d84aap-16,
    0x1.a01a01abe78f9p-13, 0x1.6c16c16c162d5p-10, 0x1.11111111100dcp-7, 0x1.5555555555556p-5, 0x1.5555555555557p-3,
    0x1p-1,
};
// 2^-62.4 on [-0.5, 0.5]
static const double f64_exp2[] = {
    0x1.c4a29324a1038p-36, 0x1.e9ec1fcb69a7fp-32, 0x1.e4cf10dec0f59p-28, 0x1.b524ebd13a55fp-24, 0x1.62c02242b879cp-20,
    0x1.ffcbfc6da6ed1p-17, 0x1.430912f86b7dbp-13, 0x1.5d87fe78a3f9cp-10, 0x1.3b2ab6fba4e79p-7, 0x1.c6b08d704a0c6p-5,
    0x1.ebfbdff82c58fp-3, 0x1.62e42fefa39efp-1,
};
// 2^-58.7 on [0, 0.02944]
static const double f64_log[] = {
    0x1.0c039c49989c6p-3, 0x1.0fbe95d71602p-3, 0x1.3b1c355a8f7a2p-3, 0x1.745cf9048dd95p-3, 0x1.c71c720159177p-3,
    0x1.2492492476cccp-2, 0x1.9999999999a38p-2, 0x1.5555555555555p-1,
};
// 2^-66.2 on [0, 0.6169]
static const double f64_sin[] = {
    -0x1.ab17c21adf462p-41, 0x1.61217eed1c04ap-33, -0x1.ae6454129f078p-26, 0x1.71de3a54607fap-19,
    -0x1.a01a01a019937p-13, 0x1.111111111111p-7, -0x1.5555555555555p-3,
};
// 2^-70.4 on [0, 0.6169]
static const double f64_cos[] = {
    0x1.ab784b1122af7p-45, -0x1.9394b9f1ce104p-37, 0x1.1eed8deb869afp-29, -0x1.27e4fb7712cc8p-22,
    0x1.a01a01a019d0ap-16, -0x1.6c16c16c16c16p-10, 0x1.5555555555555p-5,
};
// 2^-57.2 on [0, 0.6169]
static const double f64_tan[] = {
    0x1.1cb507d88284dp-17, -0x1.33641af95e7bcp-16, 0x1.326c1a2d5a51ep-15, -0x1.72003ce4da7c2p-17,
    0x1.d2623c2561ea8p-15, 0x1.7967f374c81d7p-14, 0x1.f9e4404ecf79bp-13, 0x1.351b72ba76f6cp-11, 0x1.7da7fbab71f1bp-10,
    0x1.d6d39435a08fep-9, 0x1.226e36630ea07p-7, 0x1.664f487d80d14p-6, 0x1.ba1ba1ba29c68p-5, 0x1.1111111111099p-3,
    0x1.5555555555555p-2,
};
// 2^-59.8 on [0, 0.25]
static const double f64_asin[] = {
    0x1.e529c6fce9bb4p-6, -0x1.3b416bb7d9257p-6, 0x1.406192d124629p-6, 0x1.8f193743418ffp-9, 0x1.31622469ce5adp-7,
    0x1.3b49de7121487p-7, 0x1.7b027ee1dd585p-7, 0x1.c990ad3d8fdcap-7, 0x1.1c4efce23019fp-6, 0x1.6e8ba123e494cp-6,
    0x1.f1c71c7a52ba3p-6, 0x1.6db6db6dac1ep-5, 0x1.3333333333388p-4, 0x1.5555555555555p-3,
};
// 2^-62.7 on [0, 1]
static const double f64_atan[] = {
    -0x1.56d93881af28bp-18, 0x1.0d2ba64dc4b35p-14, -0x1.929735fe2c7dap-12, 0x1.7f300a4168aa2p-10,
    -0x1.062861c099837p-8, 0x1.14e2d5c3cf8dfp-7, -0x1.db3ca635fdf7fp-7, 0x1.5a0e630f82889p-6, -0x1.bd57b2a70fb25p-6,
    0x1.0740e7b22ddb7p-5, -0x1.280da61ab6494p-5, 0x1.4560f34706c85p-5, -0x1.639775bb08f45p-5, 0x1.85fa5056a06ccp-5,
    -0x1.af23abb356af8p-5, 0x1.e1e14ec4e4c39p-5, -0x1.11110a746070dp-4, 0x1.3b13b0ce8aff4p-4, -0x1.745d17412271bp-4,
    0x1.c71c71c6fc8c9p-4, -0x1.24924924920f5p-3, 0x1.9999999999994p-3, -0x1.5555555555555p-2,
};
// 2^-71.7 on [0, 1]
static const double f64_sinh[] = {
    0x1.99f0806c2628dp-49, 0x1.ae777c36fd5b6p-41, 0x1.612467ccb226p-33, 0x1.ae6456792a77fp-26, 0x1.71de3a556f96cp-19,
    0x1.a01a01a01a001p-13, 0x1.1111111111111p-7, 0x1.5555555555555p-3,
};
// 2^-59.1 on [0, 0.36]
static const double f64_tanh[] = {
    0x1.d15602ab6f13ap-18, -0x1.0d297a9d86a2cp-15, 0x1.876e3a6430a18p-14, -0x1.f30583c23502ap-13,
    0x1.3535559875683p-11, -0x1.7da0cedf6d09bp-10, 0x1.d6d3b05a99f57p-9, -0x1.226e34dc136f6p-7, 0x1.664f488056b96p-6,
    -0x1.ba1ba1ba15b29p-5, 0x1.11111111110e3p-3, -0x1.5555555555555p-2,
};
// 2^-74.7 on [0, 1]
static const double f64_erf_near[] = {
    0x1.3c01fd3a74542p-42, -0x1.b40e7abf9fp-38, 0x1.9a0fcb5e22c5bp-34, -0x1.517ce02f1265fp-30, 0x1.fcbb312b48443p-27,
    -0x1.5f73c3bf14b91p-23, 0x1.b9e6c38e5cf3dp-20, -0x1.f4d25bf9af03ap-17, 0x1.f9a326f7ac5b1p-14,
    -0x1.c02db40035f1ep-11, 0x1.565bcd0e6a2eep-8, -0x1.b82ce31288b47p-6, 0x1.ce2f21a042be2p-4, -0x1.812746b0379e7p-2,
    0x1.06eba8214db69p-3,
};
// 2^-58.7 on [-0.5, 0.5]
static const double f64_erf_far_0[] = {
    -0x1.6c1b8209733e7p-29, 0x1.15f874ab8acc8p-29, 0x1.e088476cbbaf9p-26, -0x1.9e631ef6e980ep-23,
    0x1.b78e8bf6fc246p-21, -0x1.3e32eacdfde4bp-19, 0x1.6340a7e27def4p-19, 0x1.790bb8cc0d869p-16,
    -0x1.c4e86aa676584p-13, 0x1.499262390a17bp-10, -0x1.89a87b48fd784p-8, 0x1.a71a4bde003fp-6, 0x1.c90827462a177p-1,
    0x1.c1206279e92bdp+1, 0x1.b137096b18e96p+1,
};
// 2^-52.0 on [-0.75, 0.75]
static const double f64_erf_far_1[] = {
    -0x1.e76b16ecb2611p-32, 0x1.da17b8ee38e89p-30, -0x1.f7b96274f4062p-29, -0x1.b07c776662e44p-28,
    0x1.576aadac0c375p-23, -0x1.791e712c3e038p-20, 0x1.417a0913c9b3p-17, -0x1.e31ffdc58182fp-15,
    0x1.503c54edd0004p-12, -0x1.bef5ac3c37509p-10, 0x1.24b99770d394bp-7, 0x1.e70f0e45d6dddp-1, 0x1.74e5f70ff33d8p+2,
    0x1.268851784450ep+3,
};
// 2^-46.4 on [-1.25, 1.25]
static const double f64_erf_far_2[] = {
    -0x1.eca747fb5b721p-36, 0x1.23671b4b4e3d9p-32, -0x1.2256c19599f45p-29, 0x1.1d4d072ae2487p-26,
    -0x1.0d5514b1468a4p-23, 0x1.ecb6634162aaep-21, -0x1.b9c48a9ba6705p-18, 0x1.88777674785e3p-15,
    -0x1.5e7a6604dd00ap-12, 0x1.426214035b3d8p-9, 0x1.f5ef353e7cc84p-1, 0x1.367782769fb99p+3, 0x1.8b6cc911aebd4p+4,
};
// 2^-58.4 on [0, 0.02944]
static const double f64_pow_rest[] = {
    0x1.5a5fb73c05bdbp-3, 0x1.59e09fb241c51p-3, 0x1.89fed19a09517p-3, 0x1.c68f2f05fc1dap-3, 0x1.0c9a84bf4b885p-2,
    0x1.484b13d79c41p-2, 0x1.a61762a7adfa8p-2, 0x1.2776c50ef9bfep-1,
};

const tsri_expand_consts tsri_expand_f32 = {
    .mantissa_bits = 23, .bias = 127,
    .sign = 0x80000000, .magnitude = 0x7fffffff, .mantissa = 0x7fffff,
    .infinity = 0x7f800000, .nan = 0x7fc00000, .sqrt_half = 0x3f3504f3, .high_half = 0xfffff000,
    .rounder = 0x1.8p23, .smallest_normal = 0x1p-126, .lift = 0x1p23,
    .exp_low = -104, .exp_high = 89, .exp2_low = -151, .exp2_high = 129, .expm1_low = -18, .half_exp_high = 90,
    .tanh_limit = 0.6, .tanh_one = 9.1, .expm1_far = 32, .pow_limit = 200,
    .erf_centre = {2}, .erf_last = 4,
    .log2_e = 0x1.715476p+0, .log2_e_lo = 0x1.4ae0cp-26,
    .ln2_hi = 0x1.62e4p-1, .ln2_lo = 0x1.7f7d1cp-20, .ln2 = 0x1.62e43p-1,
    .half_pi = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50},
    .pi = {0x1.921fb6p+1, -0x1.777a5cp-24}, .two_over_pi = 0x1.45f306p-1,
    .log2_c = {0x1.714p+0, 0x1.47652cp-12},
    .log10_c = {0x1.bcap-2, 0x1.7b1526p-14},
    .log10_2 = {0x1.344p-2, 0x1.3509f8p-18},
    .pow_c0 = {0x1.715476p+1, 0x1.4ae0cp-25},
    .pow_c1 = {0x1.ec709ep-1, -0x1.e2fe02p-28},
    .exp = POLY(f32_exp),
    .exp2 = POLY(f32_exp2),
    .log = POLY(f32_log),
    .sin = POLY(f32_sin),
    .cos = POLY(f32_cos),
    .tan = POLY(f32_tan),
    .asin = POLY(f32_asin),
    .atan = POLY(f32_atan),
    .sinh = POLY(f32_sinh),
    .tanh = POLY(f32_tanh),
    .erf_near = POLY(f32_erf_near),
    .pow_rest = POLY(f32_pow_rest),
    .erf_far = {POLY(f32_erf_far_0)}, .erf_far_count = 1,
};

const tsri_expand_consts tsri_expand_f64 = {
    .mantissa_bits = 52, .bias = 1023,
    .sign = INT64_MIN, .magnitude = INT64_MAX, .mantissa = 0xfffffffffffff,
    .infinity = 0x7ff0000000000000, .nan = 0x7ff8000000000000, .sqrt_half = 0x3fe6a09e667f3bcd, .high_half = -(INT64_C(1) << 27),
    .rounder = 0x1.8p52, .smallest_normal = 0x1p-1022, .lift = 0x1p52,
    .exp_low = -746, .exp_high = 710, .exp2_low = -1076, .exp2_high = 1025, .expm1_low = -38, .half_exp_high = 711,
    .tanh_limit = 0.6, .tanh_one = 20, .expm1_far = 60, .pow_limit = 1100, .log_by_quotient = true,
    .erf_centre = {1.5, 2.75, 4.75}, .erf_split = {2, 3.5}, .erf_last = 6,
    .log2_e = 0x1.71547652b82fep+0,
    .ln2_hi = 0x1.62e42fefa38p-1, .ln2_lo = 0x1.ef35793c7673p-45, .ln2 = 0x1.62e42fefa39efp-1,
    .half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110},
    .pi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53}, .two_over_pi = 0x1.45f306dc9c883p-1,
    .log2_c = {0x1.715476p+0, 0x1.4ae0bf85ddf44p-26},
    .log10_c = {0x1.bcb7b1p-2, 0x1.49b9438ca9aaep-28},
    .log10_2 = {0x1.344135p-2, 0x1.3ef3fde623e25p-31},
    .pow_c0 = {0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55},
    .pow_c1 = {0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55},
    .exp = POLY(f64_exp),
    .exp2 = POLY(f64_exp2),
    .log = POLY(f64_log),
    .sin = POLY(f64_sin),
    .cos = POLY(f64_cos),
    .tan = POLY(f64_tan),
    .asin = POLY(f64_asin),
    .atan = POLY(f64_atan),
    .sinh = POLY(f64_sinh),
    .tanh = POLY(f64_tanh),
    .erf_near = POLY(f64_erf_near),
    .pow_rest = POLY(f64_pow_rest),
    .erf_far = {POLY(f64_erf_far_0), POLY(f64_erf_far_1), POLY(f64_erf_far_2)}, .erf_far_count = 3,
};
