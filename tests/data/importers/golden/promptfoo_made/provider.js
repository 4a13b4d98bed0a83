// A provider that answers from a list, as providers of models answer.
const given = { France: ['Paris', 90], Italy: ['Milan', 100], Spain: ['Madrid', 75], Norway: ['Bergen', 60] };
module.exports = class {
  id() { return 'made-model'; }
  async callApi(prompt) {
    const [answer, said] = given[prompt.split(' ').pop().replace('?', '')];
    return { output: answer, logProbs: [-0.125, -0.25], metadata: { confidence: said }, tokenUsage: { total: 3 } };
  }
};
