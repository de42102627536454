//! Synonyms of everyday and of programming words. A question and its answer often use different words for the same
//! thing: `photo` and `picture`, `error` and `exception`. The list holds near-synonyms only: related words lower the
//! precision more than they raise the recall. The index stores no synonyms, so a change here needs no rebuild.

use std::{collections::HashMap, sync::LazyLock};

use crate::text_index::WordTokenizer;

/// One group a line. A word may be in several groups.
const GROUPS: &str = "
photo picture pic photograph image snapshot
child kid
mother mom mum
father dad
grandmother grandma
grandfather grandpa
movie film
start begin launch
buy purchase
gift present
big large huge
job work career
friend buddy pal
house home
trip travel journey
holiday vacation
car vehicle
bike bicycle
shop store
illness disease
dog puppy pup
cat kitten kitty
book novel
song tune
painting artwork
drawing sketch
exercise workout
gym fitness
prize award
win victory
contest competition tournament
game match
happy glad
scared afraid
relax unwind
meal dish
restaurant diner
marry wedding marriage
spouse husband
spouse wife
team squad
school college university
teacher instructor
class course
company business firm
money cash
hike trek
beach seaside
charity nonprofit
help assist support
talk chat speak
end finish complete
move relocate
country nation
town city
injure injury hurt
tired exhausted
difficult hard tough
easy simple
plan intend
goal aim objective
issue problem trouble
answer reply response
fix repair solve
error exception failure
bug defect
config configuration setting cfg
background bg
foreground fg
implementation impl
production prod
temporary temp tmp
administrator admin
performance perf
package pkg
button btn
kubernetes k8s
typescript ts
javascript js
python py
repo repository
database db
auth authentication
doc documentation
directory folder dir
env environment
param parameter argument
function func fn
async asynchronous
delete remove
change modify alter
quick fast
check verify validate
password passphrase
login signin
message msg
information info
application app
library lib
dependency dep
command cmd
variable var
phone telephone mobile
television tv
flat apartment
airplane plane
coworker colleague
decide decision
choose choice pick
advice tip guidance
inspire motivate
mail email
website site
letter note
author writer
research study
love adore
";

/// The synonyms. Making them takes longer than a small search.
pub(super) static SYNONYMS: LazyLock<SynonymIndex> = LazyLock::new(SynonymIndex::new);

/// Synonyms by index word.
pub(super) struct SynonymIndex {
    groups: Vec<Vec<String>>,
    of: HashMap<String, Vec<usize>>,
}

impl SynonymIndex {
    /// Reduces all groups to index words. It takes about 0.1 ms.
    fn new() -> Self {
        let mut reader = WordTokenizer::default();
        let groups: Vec<Vec<String>> = GROUPS.lines().map(|line| reader.query(line)).collect();
        let mut of: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, group) in groups.iter().enumerate() {
            for word in group {
                of.entry(word.clone()).or_default().push(at);
            }
        }
        Self { groups, of }
    }

    /// Returns the synonyms of an index word.
    pub(super) fn of<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a String> {
        let groups = self.of.get(word).into_iter().flatten();
        groups.flat_map(|at| &self.groups[*at]).filter(move |other| *other != word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_is_an_index_word_of_the_same_group() {
        let synonyms = &*SYNONYMS;
        let of = |word| synonyms.of(word).cloned().collect::<Vec<_>>();
        assert_eq!(of("movi"), ["film"]);
        assert_eq!(of("wife"), ["spous"]);
        assert!(of("gasket").is_empty());
        // Each line is a group of at least two distinct index words.
        assert!(synonyms.groups.iter().skip(1).all(|group| group.len() > 1));
    }
}
