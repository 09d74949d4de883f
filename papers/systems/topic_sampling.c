/* Collapsed Gibbs sampling of topic models; the formula is in topic_sampling.py. Random numbers come from there: from 0
 * to 1, one for each draw. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../reranker/native/exported.h"

enum { BLOCK = 16 }; /* topics whose probabilities are summed at once in registers; one is then drawn within one sum */

/* Draws a topic with a probability proportional to its weight. */
static int32_t draw(const float *weights, int64_t n_topics, float *sums, double random) {
    int64_t n_blocks = (n_topics + BLOCK - 1) / BLOCK, block = 0;
    float total = 0;
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t end = (b + 1) * BLOCK < n_topics ? (b + 1) * BLOCK : n_topics;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = b * BLOCK; k < end; k++) sum += weights[k];
        sums[b] = sum;
        total += sum;
    }
    float left = (float)random * total;
    for (; block < n_blocks - 1 && left >= sums[block]; block++) left -= sums[block];
    int64_t k = block * BLOCK, last = ((block + 1) * BLOCK < n_topics ? (block + 1) * BLOCK : n_topics) - 1;
    for (; k < last && left >= weights[k]; k++) left -= weights[k];
    return (int32_t)k;
}

/* One sweep: draws the topic of every token anew.
 *
 *   words, documents, topics (n_tokens,); languages: of each word; random (n_tokens,)
 *   by_document (n_documents, n_topics), by_word (n_words, n_topics), by_language (n_languages, n_topics): counts
 *   beta_sums (n_languages,): beta times the number of words
 *   weights (n_topics,), sums: to work in */
EXPORT void sweep(const int32_t *words, const int32_t *documents, const int32_t *languages, int32_t *topics,
                  int64_t n_tokens, float *by_document, float *by_word, float *by_language, int64_t n_topics,
                  double alpha, double beta, const float *beta_sums, const double *random, float *weights,
                  float *sums) {
    const float a = (float)alpha, b = (float)beta;
    for (int64_t i = 0; i < n_tokens; i++) {
        int32_t language = languages[words[i]], old = topics[i];
        float *of_document = by_document + documents[i] * n_topics, *of_word = by_word + words[i] * n_topics;
        float *of_language = by_language + language * n_topics;
        of_document[old]--, of_word[old]--, of_language[old]--;
        for (int64_t k = 0; k < n_topics; k++)
            weights[k] = (of_document[k] + a) * (of_word[k] + b) / (of_language[k] + beta_sums[language]);
        int32_t drawn = draw(weights, n_topics, sums, random[i]);
        topics[i] = drawn;
        of_document[drawn]++, of_word[drawn]++, of_language[drawn]++;
    }
}

/* The mixture of one document with fixed topics, the mean of that after each run of sweeps.
 *
 *   words (n_tokens,); probabilities (n_words, n_topics): of each word in each topic; runs (n_runs,): sweeps
 *   random (n_tokens * (1 + sweeps),): the first for the topics to begin with
 *   topics (n_tokens,), counts, weights (n_topics,), sums: to work in
 *   mixture (n_topics,) */
EXPORT void infer(const int32_t *words, int64_t n_tokens, const float *probabilities, int64_t n_topics, double alpha,
                  const int64_t *runs, int64_t n_runs, const double *random, int32_t *topics, float *counts,
                  float *weights, float *sums, double *mixture) {
    const float a = (float)alpha;
    for (int64_t k = 0; k < n_topics; k++) counts[k] = 0, mixture[k] = 0;
    for (int64_t i = 0; i < n_tokens; i++) {
        topics[i] = (int32_t)(*random++ * n_topics);
        counts[topics[i]]++;
    }
    for (int64_t run = 0; run < n_runs; run++) {
        for (int64_t n = 0; n < runs[run]; n++)
            for (int64_t i = 0; i < n_tokens; i++) {
                const float *of_word = probabilities + words[i] * n_topics;
                counts[topics[i]]--;
                for (int64_t k = 0; k < n_topics; k++) weights[k] = (counts[k] + a) * of_word[k];
                topics[i] = draw(weights, n_topics, sums, *random++);
                counts[topics[i]]++;
            }
        for (int64_t k = 0; k < n_topics; k++) mixture[k] += (counts[k] + a) / (n_tokens + n_topics * alpha) / n_runs;
    }
}
